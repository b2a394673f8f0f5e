-- A statistics line of a node with its run, the lines before it, and whether another file repeats
-- it.
-- grain: one row a statistics line of a file
-- reads: stats_line, ais_file, clock, node_process, ais_removal
-- stored: yes
-- note: previous_ns is the last complete line before it in the run, prior_* the last one, cut or
-- note: not; reading_no counts the lines of a run, copies left out. is_counted: the counters of the
-- note: line and of the line before are available, neither was removed because it was old.
create or replace view stats_reading as
with placed as (
    select
        s.file_id,
        s.line_no,
        f.cluster,
        f.node_id,
        f.node_role,
        s.local_ns - k.shift_ns as utc_ns,
        s.is_complete,
        row_number()
            over (partition by f.cluster, f.node_id, s.local_ns - k.shift_ns
                order by (not contains(f.path, '.INFO')), s.file_id, s.line_no)
                as copy_no
    from stats_line as s
    join ais_file as f on f.file_id = s.file_id
    join clock as k on k.file_id = s.file_id
),
gone as (
    select cluster, node_id, low_ns,
        max(high_ns) over (partition by cluster, node_id order by low_ns) as high_ns
    from ais_removal
    where table_name = 'counter_sample'
),
dated as (
    select p.*, g.high_ns as gone_ns
    from placed as p
    asof
        left join (select distinct cluster, node_id, low_ns, high_ns from gone) as g
            on g.cluster = p.cluster
            and g.node_id = p.node_id and p.utc_ns >= g.low_ns
),
with_run as (
    select p.*, r.process_seq, r.started_ns
    from dated as p
    asof left join (
        select cluster, node_id, process_seq, started_ns,
            coalesce(started_ns, -9000000000000000000) as low_ns
        from node_process
    ) as r on r.cluster = p.cluster and r.node_id = p.node_id and p.utc_ns >= r.low_ns
)
select
    file_id,
    line_no,
    cluster,
    node_id,
    node_role,
    make_timestamp_ns(utc_ns) as sampled_at,
    utc_ns,
    is_complete,
    copy_no = 1 as is_first_copy,
    process_seq,
    started_ns,
    case when copy_no = 1 then max(case when is_complete and copy_no = 1 then utc_ns end) over (
        partition by cluster, node_id, process_seq order by utc_ns,
            line_no rows between unbounded preceding and 1 preceding
    ) end as previous_ns,
    case when copy_no = 1 then row_number() over same end as reading_no,
    case when copy_no = 1 then lag(file_id) over same end as prior_file_id,
    case when copy_no = 1 then lag(line_no) over same end as prior_line_no,
    coalesce(gone_ns <= coalesce(lag(utc_ns) over same, started_ns), gone_ns is null) as is_counted
from with_run
window same as (partition by cluster, node_id, process_seq, copy_no = 1 order by utc_ns, line_no)
