-- When an AIStore cluster served: between which moments its logs lie, when batches began, and when
-- its targets served last.
-- grain: one row a cluster
-- reads: ais_line, stats_line, counter_sample, clock_ais, ais_file, row_removal
-- stored: yes
-- note: On the clock that the cluster's own logs prove. getbatch.n where the cluster served
-- note: batches, else get.n; busy_from_ns and busy_to_ns are the ends of the last interval in which
-- note: it grew, null unless later statistics lines show that it did not any more. batches: the
-- note: first line of each x-get-batch xaction.
create or replace view cluster_load as
with reading as (
    select
        f.cluster, l.file_id, l.process_no, l.line_no, l.local_ns - k.shift_ns as utc_ns,
        coalesce(max(c.value) filter (where c.name = 'getbatch.n'), 0) as batch_count,
        coalesce(max(c.value) filter (where c.name = 'get.n'), 0) as get_count
    from stats_line as l
    join ais_file as f on f.file_id = l.file_id and f.node_role = 'target'
    join clock_ais as k on k.file_id = l.file_id
    left join counter_sample as c on c.file_id = l.file_id and c.line_no = l.line_no
        and c.name in ('getbatch.n', 'get.n')
    where not exists (select 1 from row_removal as r
        where r.table_name = 'counter_sample' and r.file_id = l.file_id and l.local_ns >= r.low_ns
            and l.local_ns < r.high_ns)
    group by f.cluster, l.file_id, l.process_no, l.line_no, l.local_ns - k.shift_ns
),
chosen as (
    select *,
        case when max(batch_count) over (partition by cluster) > 0 then batch_count
            else get_count end
            as served_count
    from reading
),
interval as (
    select
        cluster, utc_ns,
        lag(utc_ns) over same as previous_ns,
        served_count > lag(served_count) over same as is_busy
    from chosen
    window same as (partition by file_id, process_no order by line_no)
),
stop as (
    select
        cluster,
        max(utc_ns) filter (where is_busy) as busy_to_ns,
        arg_max(previous_ns, utc_ns) filter (where is_busy) as busy_from_ns
    from interval
    group by cluster
    having max(utc_ns) > max(utc_ns) filter (where is_busy)
),
span as (
    select f.cluster, min(a.local_ns - k.shift_ns) as first_ns,
        max(a.local_ns - k.shift_ns) as last_ns
    from (select file_id, local_ns from ais_line union all select file_id, local_ns from stats_line)
        as a
    join ais_file as f on f.file_id = a.file_id
    join clock_ais as k on k.file_id = a.file_id
    group by f.cluster
),
batch as (
    select
        f.cluster, min(a.local_ns - k.shift_ns) as utc_ns,
        arg_min(a.text, (a.local_ns - k.shift_ns, a.file_id, a.line_no)) as text
    from ais_line as a
    join ais_file as f on f.file_id = a.file_id
    join clock_ais as k on k.file_id = a.file_id
    where a.pattern = 'ais_get_batch_started'
    group by f.cluster, a.xid
),
begun as (
    select cluster, list({'utc_ns': utc_ns, 'text': text} order by utc_ns, text) as batches
    from batch
    group by cluster
)
select s.cluster, s.first_ns, s.last_ns, p.busy_from_ns, p.busy_to_ns, b.batches
from span as s
left join stop as p on p.cluster = s.cluster
left join begun as b on b.cluster = s.cluster
