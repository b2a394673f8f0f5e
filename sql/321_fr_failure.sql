-- The hang that Flight Recorder dumps show: which operation blocked first, whether they can tell
-- who, and the job attempt it belongs to.
-- grain: at most one row a job attempt
-- reads: fr_wait, fr_pending, fr_suspect, fr_mismatch, fr_order, fr_dump, job_span, threshold
-- stored: yes
-- note: The first operation is the earliest to wait among those that lack or hold a rank that
-- note: nobody holds up, else among all. circle: operations that wait for each other, as whom each
-- note: lacks waits in another one, where no rank is told as the first cause. The attempt is the
-- note: latest that had begun when the last call was made. A dump of a job that went on or
-- note: succeeded afterwards shows a moment of work, and counts for nothing. spoke_ns: when the
-- note: dumps were written, where their files' times can be believed (is_written), else when
-- note: the time-out was over.
create or replace view fr_failure as
with recursive wait as (
    select *, group_key || ' ' || operation_key as operation from fr_wait
),
root as (
    select job_id, path_attempt, group_key, basis, list(rank) as ranks
    from fr_suspect
    where not is_held
    group by job_id, path_attempt, group_key, basis
),
edge as (
    select distinct w.job_id, w.path_attempt, w.operation, m.operation as next_operation
    from (select *, unnest(absent_ranks) as rank from wait) as w
    join fr_pending as n on n.job_id = w.job_id and n.path_attempt = w.path_attempt
        and n.rank = w.rank
    join wait as m on m.job_id = n.job_id and m.path_attempt = n.path_attempt
        and m.group_key = n.group_key and m.operation_key = n.operation_key
        and len(m.absent_ranks) > 0
    where (w.job_id, w.path_attempt) not in (select job_id, path_attempt from root)
),
reach as (
    from edge
    union
    select r.job_id, r.path_attempt, r.operation, e.next_operation
    from reach as r
    join edge as e on e.job_id = r.job_id and e.path_attempt = r.path_attempt
        and e.operation = r.next_operation
),
ranked as (
    select
        w.*,
        exists (
            select 1 from root as r
            where r.job_id = w.job_id and r.path_attempt = w.path_attempt
                and r.group_key = w.group_key
                and (r.basis <> 'behind' or list_has_any(r.ranks, w.absent_ranks))
        ) as is_root,
        (job_id, path_attempt, group_key) in (select job_id, path_attempt, group_key
            from fr_mismatch
            union select job_id, path_attempt, group_key from fr_order) as is_split,
        (job_id, path_attempt, operation) in (select job_id, path_attempt, operation from reach
            where operation = next_operation) as is_circle,
        case when len(w.absent_ranks) = 0 then w.unknown_ranks else [] end as lost_ranks
    from wait as w
),
first_wait as (
    select *,
        list_sort(list(operation) filter (where is_circle) over whole) as circle,
        list_sort(list_distinct(flatten(list(lost_ranks) over whole))) as missing_ranks
    from ranked
    window whole as (partition by job_id, path_attempt)
    qualify row_number()
        over (partition by job_id, path_attempt order by not is_root, not is_split,
            len(lost_ranks) = 0, len(absent_ranks) > 0 and not is_circle, first_ns nulls last,
            is_p2p, member_count, group_key, operation_key)
            = 1
),
dump as (
    select job_id, path_attempt, max(last_ns) as last_ns,
        min(modified_ns) filter (where last_ns is not null) as written_ns
    from fr_dump
    where state = 'used'
    group by job_id, path_attempt
),
hang as (
    select f.*, d.last_ns as dumped_ns, d.written_ns, j.attempt, j.is_done, j.progress_ns,
        coalesce(f.first_ns, d.last_ns) as hang_start_ns,
        coalesce(f.timeout_ms, 600000) * 1000000 as timeout_ns
    from first_wait as f
    join dump as d on d.job_id = f.job_id and d.path_attempt = f.path_attempt
    join job_span as j on j.job_id = f.job_id
        and (j.started_ns is null or j.started_ns <= d.last_ns + 60000000000)
    qualify row_number()
        over (partition by f.job_id, f.path_attempt order by j.attempt desc) = 1
)
select
    h.job_id, h.attempt, h.path_attempt, h.group_key, h.process_group,
    regexp_extract(h.process_group, '^([^( ]+)', 1) as guid, h.is_p2p, h.seq_num, h.op_type,
    h.numel_in, h.numel_out, h.timeout_ms, h.user_location, h.hang_start_ns,
    len(h.waiting_ranks)::integer as waiting_count, h.member_count, h.missing_ranks,
    case
        when exists (select 1 from root as r
            where r.job_id = h.job_id and r.path_attempt = h.path_attempt) then 'told'
        when h.is_split then 'split' when len(h.missing_ranks) > 0 then 'dump_missing'
        when len(h.absent_ranks) = 0 then 'all_entered' else 'circle'
    end as outcome,
    h.circle,
    coalesce(
        h.written_ns between h.dumped_ns and h.hang_start_ns + h.timeout_ns + 3600000000000, false)
        as is_written,
    if(is_written, h.written_ns, h.hang_start_ns + h.timeout_ns) as spoke_ns,
    h.file_id, h.place_no, h.text
from hang as h
join threshold as t on t.name = 'dump_wait_s'
join threshold as g on g.name = 'hang_gap_s'
where not h.is_done
    and not coalesce(h.written_ns between h.dumped_ns and h.dumped_ns + t.value * 1000000000, false)
    and coalesce(h.progress_ns <= h.hang_start_ns + g.value * 1000000000, true)
qualify row_number() over (partition by h.job_id, h.attempt order by h.path_attempt desc) = 1
