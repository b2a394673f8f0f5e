-- Where a member of a process group stood by its Flight Recorder dump: enqueued, completed, its
-- oldest unfinished record.
-- grain: one row a job, group and member
-- reads: fr_dump, fr_group, fr_collective
-- stored: yes
-- note: The counters are pg_status joined with what the records show; dumps of active collectives
-- note: alone have no finished records, dumps up to PyTorch 2.4 no counters. Sends and receives are
-- note: counted apart. A dump that speaks of no group is as good as none.
create or replace view fr_position as
with member as (
    select distinct job_id, path_attempt, group_key, rank from fr_group
        where is_used and pg_id is not null
    union
    select distinct job_id, path_attempt, group_key, unnest(ranks)::integer as rank from fr_group
        where is_used
),
known as (
    select job_id, path_attempt, group_key, rank, max(last_enqueued) as last_enqueued,
        max(last_started) as last_started, max(last_completed) as last_completed,
        max(process_group) as process_group,
        min(file_id) as file_id, max(place_no) as place_no, min(text) as text
    from fr_group
    where is_used and pg_id is not null
    group by job_id, path_attempt, group_key, rank
),
record as (
    select
        job_id, path_attempt, group_key, rank,
        bool_and(is_p2p) as is_p2p,
        max(seq_num) filter (where not is_p2p) as last_seen,
        max(seq_num) filter (where not is_p2p and is_finished) as last_finished,
        min(seq_num) filter (where not is_p2p and not is_finished) as pending_seq,
        min(created_ns) filter (where not is_p2p and not is_finished) as pending_ns
    from fr_collective
    where is_used
    group by job_id, path_attempt, group_key, rank
)
select
    m.job_id,
    m.path_attempt,
    m.group_key,
    m.rank,
    max(k.process_group) over whole as process_group,
    d.file_id is not null as has_dump,
    greatest(k.last_enqueued, r.last_seen) as last_enqueued,
    coalesce(greatest(k.last_completed, r.last_finished), r.pending_seq - 1) as last_completed,
    k.last_started,
    r.pending_ns,
    coalesce(bool_and(r.is_p2p) over whole, true)
        and coalesce(bool_or(r.is_p2p
            or regexp_matches(k.process_group, '(?i)pipeline|(\b|_)pp(\b|_)')) over whole, false)
        as is_p2p_group,
    d.file_id,
    coalesce(k.place_no, 0) as place_no,
    k.text
from member as m
left join fr_dump as d on d.job_id = m.job_id and d.path_attempt = m.path_attempt
    and d.rank = m.rank and d.state = 'used'
    and d.file_id in (select file_id from fr_group where is_used)
left join known as k on k.job_id = m.job_id and k.path_attempt = m.path_attempt
    and k.group_key = m.group_key and k.rank = m.rank
left join record as r on r.job_id = m.job_id and r.path_attempt = m.path_attempt
    and r.group_key = m.group_key and r.rank = m.rank
window whole as (partition by m.job_id, m.path_attempt, m.group_key)
