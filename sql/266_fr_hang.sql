-- What the Flight Recorder dumps of a job say about its hang: which group blocked first, in what, and whether they can tell who.
-- grain: one row a job with a group that stands still
-- reads: fr_group_state, fr_suspect, fr_mismatch, fr_dump, threshold
-- stored: yes
-- note: The first group is the earliest to wait among those that point at a rank which nobody holds up, else among all. outcome: told; split (calls differ and no side is the larger); dump_missing (all dumps wait alike and a member's is missing: it is a suspect, not proven); all_entered (everybody entered, nobody finished); circle (everyone behind waits for another). is_snapshot: written within seconds of the last call, so of a job that runs.
create or replace view fr_hang as
with root as (
    select job_id, path_attempt, group_key, count(*) as root_count
    from fr_suspect
    where not is_held
    group by job_id, path_attempt, group_key
),
split as (
    select distinct job_id, path_attempt, group_key from fr_mismatch
),
ranked as (
    select g.*, coalesce(r.root_count, 0) as root_count, s.group_key is not null as is_split,
        list_distinct(flatten(list(g.missing_ranks) over (partition by g.job_id, g.path_attempt))) as every_missing,
        bool_or(h.job_id is not null) over (partition by g.job_id, g.path_attempt) as is_anyone_held
    from fr_group_state as g
    left join root as r on r.job_id = g.job_id and r.path_attempt = g.path_attempt and r.group_key = g.group_key
    left join split as s on s.job_id = g.job_id and s.path_attempt = g.path_attempt and s.group_key = g.group_key
    left join (select distinct job_id, path_attempt, group_key from fr_suspect where is_held) as h on h.job_id = g.job_id and h.path_attempt = g.path_attempt and h.group_key = g.group_key
    where g.is_stuck
),
first_group as (
    select * from ranked
    qualify row_number() over (partition by job_id, path_attempt order by (root_count = 0), (not is_split), (len(missing_ranks) = 0), hang_start_ns nulls last, member_count, group_key) = 1
),
dump as (
    select job_id, path_attempt, min(first_ns) as first_ns, max(last_ns) as last_ns, min(modified_ns) filter (where last_ns is not null) as written_ns, count(*) as dump_count, max(rank) as top_rank
    from fr_dump
    where state = 'used'
    group by job_id, path_attempt
)
select
    f.job_id, f.path_attempt, f.group_key, f.process_group, regexp_extract(f.process_group, '^([^( ]+)', 1) as guid, f.stuck_seq as seq_num, f.op_type, f.numel_in, f.numel_out, f.timeout_ms, f.user_location,
    coalesce(f.hang_start_ns, d.last_ns) as hang_start_ns,
    f.entered_count::integer as waiting_count, f.member_count, f.placed_count, f.pending_count, f.missing_ranks,
    case when f.root_count > 0 then 'told' when f.is_split then 'split' when len(f.every_missing) > 0 then 'dump_missing' when f.is_anyone_held then 'circle' else 'all_entered' end as outcome,
    coalesce(d.written_ns between d.last_ns and d.last_ns + t.value * 1000000000, false) as is_snapshot,
    d.first_ns, d.last_ns, d.written_ns, d.dump_count, f.file_id, f.place_no, f.text
from first_group as f
join dump as d on d.job_id = f.job_id and d.path_attempt = f.path_attempt
join threshold as t on t.name = 'dump_wait_s'
