-- What the Flight Recorder dumps of a job say about its hang: which operation blocked first, and
-- whether they can tell who.
-- grain: one row a job with an operation that stands still
-- reads: fr_wait, fr_suspect, fr_mismatch, fr_order, fr_circle, fr_dump, threshold
-- stored: yes
-- note: The first operation is the earliest to wait among those that lack or hold a rank that
-- note: nobody holds up, else among all.
create or replace view fr_hang as
with root as (
    select job_id, path_attempt, group_key, basis, count(*) as root_count, list(rank) as ranks
    from fr_suspect
    where not is_held
    group by job_id, path_attempt, group_key, basis
),
split as (
    select job_id, path_attempt, group_key from fr_mismatch
    union
    select job_id, path_attempt, group_key from fr_order
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
        exists (select 1 from split as s
            where s.job_id = w.job_id and s.path_attempt = w.path_attempt
                and s.group_key = w.group_key)
            as is_split,
        exists (select 1 from fr_circle as c
            where c.job_id = w.job_id and c.path_attempt = w.path_attempt
                and c.group_key = w.group_key and c.operation_key = w.operation_key)
            as is_circle,
        case when len(w.absent_ranks) = 0 then w.unknown_ranks else [] end as lost_ranks
    from fr_wait as w
),
first_wait as (
    select *,
        list_sort(list_distinct(flatten(list(lost_ranks) over (partition by job_id, path_attempt))))
            as missing_ranks
    from ranked
    qualify row_number()
        over (partition by job_id, path_attempt order by not is_root, not is_split,
            len(lost_ranks) = 0, len(absent_ranks) > 0 and not is_circle, first_ns nulls last,
            is_p2p, member_count, group_key, operation_key)
            = 1
),
dump as (
    select job_id, path_attempt, min(first_ns) as first_ns, max(last_ns) as last_ns,
        min(modified_ns) filter (where last_ns is not null) as written_ns, count(*) as dump_count
    from fr_dump
    where state = 'used'
    group by job_id, path_attempt
)
select
    f.job_id, f.path_attempt, f.group_key, f.process_group,
    regexp_extract(f.process_group, '^([^( ]+)', 1) as guid, f.is_p2p, f.seq_num, f.op_type,
    f.numel_in, f.numel_out, f.timeout_ms, f.user_location,
    coalesce(f.first_ns, d.last_ns) as hang_start_ns,
    len(f.waiting_ranks)::integer as waiting_count, f.member_count, f.missing_ranks,
    case
        when f.is_root
            or exists (select 1 from root as r
                where r.job_id = f.job_id and r.path_attempt = f.path_attempt)
                then 'told'
        when f.is_split then 'split' when len(f.missing_ranks) > 0 then 'dump_missing'
            when f.is_circle then 'circle' when len(f.absent_ranks) = 0 then 'all_entered'
            else 'circle'
    end as outcome,
    coalesce(d.written_ns between d.last_ns and d.last_ns + t.value * 1000000000, false)
        as is_snapshot,
    d.first_ns, d.last_ns, d.written_ns, d.dump_count, f.file_id, f.place_no, f.text
from first_wait as f
join dump as d on d.job_id = f.job_id and d.path_attempt = f.path_attempt
join threshold as t on t.name = 'dump_wait_s'
