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
        count(*) filter (where is_p2p) as p2p_count,
        count(*) filter (where not is_p2p) as collective_count,
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
    max(k.process_group) over (partition by m.job_id, m.path_attempt, m.group_key) as process_group,
    d.file_id is not null as has_dump,
    case
        when d.file_id is not null
            then coalesce(greatest(k.last_enqueued, r.last_seen), k.last_enqueued, r.last_seen) end
        as last_enqueued,
    case
        when d.file_id is not null
            then coalesce(greatest(k.last_completed, r.last_finished), k.last_completed,
                r.last_finished, r.pending_seq - 1) end
        as last_completed,
    k.last_started,
    r.pending_ns,
    coalesce(r.collective_count, 0) as collective_count,
    bool_or(coalesce(r.p2p_count, 0) > 0) over (partition by m.job_id, m.path_attempt, m.group_key)
        and not bool_or(coalesce(r.collective_count, 0) > 0)
            over (partition by m.job_id, m.path_attempt, m.group_key)
        or bool_or(coalesce(r.collective_count, 0) = 0
            and regexp_matches(coalesce(k.process_group, ''), '(?i)pipeline|(\b|_)pp(\b|_)'))
            over (partition by m.job_id, m.path_attempt, m.group_key)
        and not bool_or(coalesce(r.collective_count, 0) > 0)
            over (partition by m.job_id, m.path_attempt, m.group_key) as is_p2p_group,
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
