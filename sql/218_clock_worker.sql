-- What must be subtracted from the clock of a worker file to get UTC, and how that is known.
-- grain: one row a worker log
-- reads: worker_file, worker_line, worker_tail, clock_year, clock_absolute,
-- reads: clock_worker_anchor, ais_file, clock_ais, clock_job_name, cluster_load, job_storage,
-- reads: zone_choice, pattern, threshold
-- stored: yes
-- note: against_ns: a zone that the user gave stands, but other logs say that it is off by so
-- note: much; then it is no surer than they leave it. Ranks of one job see a collective time out
-- note: within seconds, so a file without evidence takes the clock of the others, be it given; own
-- note: evidence goes first, because nodes differ. What a redirect says of lines without a stamp
-- note: counts where nothing else ties the job to its cluster, and moves it only to a cluster that
-- note: tells its own zone, or whose logs are of that time, taken as UTC: else both may print the
-- note: same one. Where no file of a job has any, names that AIStore says in the same second tell
-- note: of all its files, else the first batch it asked for, seconds to minutes after its first
-- note: line, else the end of the last interval in which the cluster served, between its last step
-- note: and its end, else the one zone in which the logs of its cluster, hardly longer, hold the
-- note: whole job. One name alone, which may be the same by chance, tells nothing where the first
-- note: batch tells another offset; names of two clusters must agree. Of batches and ends, an
-- note: offset of zero that fits is taken; another one only if clocks somewhere go so, no second
-- note: one fits and the cluster's logs lie beside the job's, and by a batch only if zero lies
-- note: outside the logs at hand. Jobs that do not speak of AIStore are left alone.
create or replace view clock_worker as
with file as (
    select file_id, job_id, is_utc, zone, first_ns, last_ns,
        bool_and(zone is not null) over (partition by job_id) as is_all_given
    from worker_file
    where kind = 'worker_log'
),
own as (
    select file_id, offset_ns, if(kind in ('utm', 'beside'), 'anchor', 'utc_marker') as method,
        if(kind in ('utm', 'beside'), 0.97, 0.99) as confidence, line_no, text
    from clock_absolute
    where kind = 'utm' or (kind <> 'utm_between'
        and file_id not in (select file_id from file where zone is not null))
    qualify row_number() over (partition by file_id
        order by kind = 'beside', kind = 'utm', vote_count desc) = 1
),
guessed as (
    select s.job_id, any_value(l.first_ns) as first_ns,
        any_value(l.last_ns + t.value::bigint * 1000000000) as last_ns
    from job_storage as s
    join ais_file as a on a.cluster = s.cluster
    join clock_ais as k on k.file_id = a.file_id
    left join cluster_load as l on l.cluster = s.cluster
    join threshold as t on t.name = 'stamp_reach_s'
    group by s.job_id, s.cluster
    having max(k.confidence) <= 0.7
),
told as (
    select file_id, offset_ns, method, confidence, line_no, text from own
    union all
    select file_id, offset_ns, 'anchor', case when is_ambiguous then 0.7 else 0.95 end, line_no,
        text
    from clock_worker_anchor
    where file_id not in (select file_id from own)
    union all
    select b.file_id, b.offset_ns, 'utc_marker', 0.97, b.line_no, b.text
    from clock_absolute as b
    join file as f on f.file_id = b.file_id and f.zone is null
    where b.kind = 'utm_between'
        and (b.offset_ns = 0 or not exists (from guessed as g where g.job_id = f.job_id
            and coalesce(f.last_ns - b.offset_ns not between g.first_ns and g.last_ns, true)))
        and not exists (from file as o where o.job_id = f.job_id
            and (o.file_id in (select file_id from own)
                or o.file_id in (select file_id from clock_worker_anchor)))
        and not exists (from clock_job_name as n where n.job_id = f.job_id and n.offset_ns <> 0)
),
death as (
    select w.file_id, f.job_id, f.zone, w.attempt_no,
        min(w.local_ns) - coalesce(any_value(y.shift_ns), 0) as local_ns,
        arg_min(w.line_no, (w.local_ns, w.line_no)) as line_no,
        arg_min(w.text, (w.local_ns, w.line_no)) as text
    from worker_line as w
    join file as f on f.file_id = w.file_id and (not f.is_utc or f.zone is not null)
    left join clock_year as y on y.file_id = f.file_id
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
    where a.file_id not in (select file_id from told)
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
job as (
    select
        f.job_id, min(f.first_ns) as start_ns, max(f.last_ns) as end_ns,
        coalesce(max(t.local_ns), min(f.first_ns)) as step_ns
    from worker_file as f
    left join worker_tail as t on t.file_id = f.file_id and t.zone_offset_s is null
        and t.step is not null
    where f.kind = 'worker_log' and (not f.is_utc or f.zone is not null) and f.first_ns is not null
        and f.job_id in (select job_id from job_storage where is_ais_user)
    group by f.job_id, f.zone is not null
    qualify row_number() over (partition by f.job_id order by f.zone is not null) = 1
),
pair as (
    select
        j.*, c.* exclude (cluster), b.cluster is not null as is_beside,
        bool_or(c.first_ns < j.end_ns and c.last_ns > j.start_ns)
            over (partition by j.job_id) as is_covered
    from job as j
    cross join cluster_load as c
    left join job_storage as b on b.job_id = j.job_id and b.cluster = c.cluster
),
batch as (
    select
        p.job_id, p.start_ns, p.is_beside and not p.is_covered as is_apart, p.batch,
        (round((p.start_ns - p.batch.utc_ns) / (s.value * 1e9)) * s.value * 1e9)::bigint
            as offset_ns
    from (select *, unnest(batches) as batch from pair) as p
    join threshold as s on s.name = 'zone_step_s'
),
fit as (
    select 2 as place, b.job_id, b.offset_ns, min(b.batch.text) as text
    from batch as b
    join threshold as g on g.name = 'job_start_lag_s'
    join threshold as z on z.name = 'zone_span_s'
    where b.batch.utc_ns + b.offset_ns - b.start_ns between -5000000000 and g.value * 1e9
        and abs(b.offset_ns) <= z.value * 1e9 and (b.offset_ns = 0 or b.is_apart)
    group by b.job_id, b.offset_ns
    union all
    select distinct 3, p.job_id, z.zone_ns,
        'the targets stopped serving it between its last step and its end'
    from pair as p
    join zone_choice as z on z.is_from_utc and (z.zone_ns = 0 or p.is_beside)
    where p.busy_from_ns <= p.end_ns - z.zone_ns + 5000000000
        and p.busy_to_ns >= p.step_ns - z.zone_ns - 5000000000
    union all
    select distinct 4, p.job_id, z.zone_ns, 'the logs of its cluster hold the whole job'
    from pair as p
    join zone_choice as z on z.is_from_utc and z.is_in_use
    where p.is_beside and not p.is_covered
        and p.last_ns - p.first_ns < p.end_ns - p.start_ns + 900e9
        and p.start_ns - z.zone_ns > p.first_ns - 30e9 and p.end_ns - z.zone_ns < p.last_ns + 30e9
),
fitting as (
    select f.*
    from (
        from fit
        qualify row_number() over (partition by place, job_id order by abs(offset_ns), offset_ns)
            = 1 and (offset_ns = 0 or count(*) over (partition by place, job_id) = 1)
    ) as f
    join zone_choice as z on z.zone_ns = f.offset_ns and z.is_in_use
),
sign as (
    select
        1 as place, n.job_id, min(-n.offset_ns) as offset_ns,
        case when max(n.name_count) > 1 then 0.9 else 0.8 end as confidence,
        case when max(n.name_count) > 1 then max(n.name_count)::varchar || ' names'
            else 'a name' end || ' that both say in the same second' as text
    from clock_job_name as n
    join zone_choice as z on z.zone_ns = -n.offset_ns and z.is_in_use
    left join fitting as t on t.job_id = n.job_id and t.place = 2
    where not n.is_known and (n.name_count > 1 or coalesce(t.offset_ns = -n.offset_ns, true))
    group by n.job_id
    having min(n.offset_ns) = max(n.offset_ns)
    union all
    select place, job_id, offset_ns,
        case when place >= 3 then 0.65 when offset_ns = 0 then 0.8 else 0.7 end, text
    from fitting
),
job_clock as (
    from sign
    qualify row_number() over (partition by job_id order by place) = 1
),
joined as (
    select
        f.file_id, f.is_utc, f.zone, coalesce(y.shift_ns, 0) as year_ns,
        case when f.zone is not null then 0 when f.is_utc then coalesce(o.offset_ns, 0)
            else coalesce(t.offset_ns, s.offset_ns, z.offset_ns, j.offset_ns, 0) end as zone_ns,
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
    left join clock_year as y on y.file_id = f.file_id
    left join sibling as s on s.file_id = f.file_id
    left join job_zone as z on z.job_id = f.job_id and f.zone is null
    left join job_clock as j on j.job_id = f.job_id and (f.zone is null or f.is_all_given)
)
select
    file_id,
    zone_ns + year_ns as shift_ns,
    (zone_ns / 1000000000)::bigint as zone_offset_s,
    case when zone is not null then 'given' when is_utc then 'utc_marker'
        else coalesce(method, 'assumed') end as method,
    case when against_ns is not null then 1 - confidence when is_utc then 0.99
        else coalesce(confidence, 0.5) end as confidence,
    line_no,
    text,
    against_ns
from (select *, case when zone is not null and offset_ns <> 0 then offset_ns end as against_ns
    from joined)
