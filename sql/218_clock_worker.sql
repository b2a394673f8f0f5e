-- What must be subtracted from the clock of a worker file to get UTC, and how that is known.
-- grain: one row a worker log
-- reads: worker_file, worker_line, clock_absolute, clock_worker_anchor, clock_job, pattern
-- stored: yes
-- note: against_ns: a zone that the user gave stands, but other logs say that it is off by so much;
-- note: then it is no surer than they leave it. Ranks of one job see the same collective time out
-- note: within seconds, so a file without evidence takes the clock of the others, be it one that
-- note: the user gave; own evidence goes first, because nodes differ.
create or replace view clock_worker as
with file as (
    select file_id, job_id, is_utc, zone, date_method,
        bool_and(zone is not null) over (partition by job_id) as is_all_given
    from worker_file
    where kind = 'worker_log'
),
own as (
    select file_id, offset_ns, case kind when 'utm' then 'anchor' else 'utc_marker' end as method,
        case kind when 'utm' then 0.97 else 0.99 end as confidence, line_no, text
    from clock_absolute
    where kind = 'utm' or file_id not in (select file_id from file where zone is not null)
    qualify row_number()
        over (partition by file_id order by (kind = 'utm'), vote_count desc, kind) = 1
),
told as (
    select file_id, offset_ns, method, confidence, line_no, text from own
    union all
    select a.file_id, a.offset_ns, 'anchor', case when a.is_ambiguous then 0.7 else 0.95 end,
        a.line_no, a.text
        from clock_worker_anchor as a
    where not exists (select 1 from own as o where o.file_id = a.file_id)
),
death as (
    select w.file_id, f.job_id, f.zone, w.attempt_no, min(w.local_ns) as local_ns,
        arg_min(w.line_no, (w.local_ns, w.line_no)) as line_no,
        arg_min(w.text, (w.local_ns, w.line_no)) as text
    from worker_line as w
    join file as f on f.file_id = w.file_id and (not f.is_utc or f.zone is not null)
    join pattern as p on p.pattern = w.pattern and p.format = 'worker'
        and p.rank_effect in ('timed_out', 'notified')
    where w.stamp_source = 'own'
    group by w.file_id, f.job_id, f.zone, w.attempt_no
),
known as (
    select file_id, offset_ns, confidence, false as is_given from told
        where file_id not in (select file_id from file where zone is not null)
    union all
    select file_id, 0, 0.7, true from file where zone is not null
),
sibling as (
    select a.file_id,
        t.offset_ns + (round((a.local_ns - b.local_ns) / 900e9) * 900e9)::bigint as offset_ns,
        t.confidence, a.line_no, a.text
    from death as a
    join death as b on b.job_id = a.job_id and b.attempt_no = a.attempt_no
        and b.file_id <> a.file_id
    join known as t on t.file_id = b.file_id and (not t.is_given or a.zone is null)
    where not exists (select 1 from told as o where o.file_id = a.file_id)
    qualify row_number()
        over (partition by a.file_id order by t.confidence desc, b.file_id, a.attempt_no) = 1
),
job_zone as (
    select f.job_id, mode(t.offset_ns order by t.offset_ns) as offset_ns,
        max(t.confidence) as confidence
    from told as t
    join file as f on f.file_id = t.file_id and f.zone is null
    group by f.job_id
),
joined as (
    select
        f.file_id, f.is_utc, f.zone, f.date_method,
        case when f.zone is not null then 0 when f.is_utc then coalesce(o.offset_ns, 0)
            else coalesce(t.offset_ns, s.offset_ns, z.offset_ns, j.offset_ns, 0) end
            as shift_ns,
        coalesce(t.offset_ns, s.offset_ns, z.offset_ns, j.offset_ns) as offset_ns,
        case when t.file_id is not null then t.method
            when coalesce(s.offset_ns, z.offset_ns, j.offset_ns) is not null then 'anchor' end
            as method,
        coalesce(t.confidence, s.confidence * 0.98, z.confidence * 0.9, j.confidence) as confidence,
        coalesce(t.line_no, s.line_no) as line_no,
        coalesce(t.text, s.text, j.text) as text
    from file as f
    left join told as t on t.file_id = f.file_id
    left join own as o on o.file_id = f.file_id
    left join sibling as s on s.file_id = f.file_id
    left join job_zone as z on z.job_id = f.job_id and f.zone is null
    left join clock_job as j on j.job_id = f.job_id and (f.zone is null or f.is_all_given)
)
select
    file_id,
    shift_ns,
    (shift_ns / 1000000000)::bigint as zone_offset_s,
    case when zone is not null then 'given' when is_utc then 'utc_marker'
        else coalesce(method, 'assumed') end
        as method,
    case when against_ns is not null then 1 - confidence when is_utc then 0.99
        else coalesce(confidence, 0.5) end
        as confidence,
    line_no,
    text,
    against_ns
from (select *, case when zone is not null and offset_ns <> 0 then offset_ns end as against_ns
    from joined)
