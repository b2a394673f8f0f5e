-- One run of one AIStore daemon, from start to stop, kill or end of logs.
-- grain: one row a run of a node
-- reads: ais_event, ais_file, clock, stats_line
-- public: yes
-- stored: yes
-- empty without: ais_event, stats_line
-- note: A run begins with `Started up at`; a rotation continues it. killed: the next run began and this one wrote no stop line. Run 0 is what was written before the first start in the logs at hand.
create or replace view node_process as
with line as (
    select cluster, node_id, utc_ns, file_id, line_no
    from ais_event
    union all
    select f.cluster, f.node_id, s.local_ns - k.shift_ns as utc_ns, s.file_id, s.line_no
    from stats_line as s
    join ais_file as f on f.file_id = s.file_id
    join clock as k on k.file_id = s.file_id
),
start as (
    select cluster, node_id, utc_ns as started_ns, min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no
    from ais_event
    where pattern = 'ais_process_started'
    group by cluster, node_id, utc_ns
),
node as (
    select cluster, node_id, min(utc_ns) as first_ns from line group by cluster, node_id
),
run as (
    select cluster, node_id, started_ns, file_id, line_no, row_number() over (partition by cluster, node_id order by started_ns) as process_seq
    from start
    union all
    select n.cluster, n.node_id, null, null, null, 0
    from node as n
    where not exists (select 1 from start as s where s.cluster = n.cluster and s.node_id = n.node_id and s.started_ns <= n.first_ns + 1000000000)
),
bounded as (
    select
        r.*,
        coalesce(r.started_ns, -9000000000000000000) as low_ns,
        lead(r.started_ns) over (partition by r.cluster, r.node_id order by r.process_seq) as next_ns
    from run as r
),
filled as (
    select
        b.cluster, b.node_id, b.process_seq, b.started_ns, b.next_ns, b.file_id, b.line_no,
        min(l.utc_ns) as first_ns,
        max(l.utc_ns) as last_ns
    from bounded as b
    left join line as l on l.cluster = b.cluster and l.node_id = b.node_id and l.utc_ns >= b.low_ns and l.utc_ns < coalesce(b.next_ns, 9000000000000000000)
    group by all
),
ending as (
    select f.cluster, f.node_id, f.process_seq, arg_min(e.node_effect, (e.utc_ns, e.file_id, e.line_no)) as effect, min(e.utc_ns) as ns
    from filled as f
    join ais_event as e on e.cluster = f.cluster and e.node_id = f.node_id and e.subject = 'self' and e.node_effect in ('stopping', 'stopped', 'fatal')
        and e.utc_ns >= f.first_ns and e.utc_ns <= f.last_ns
    where e.pattern <> 'ais_runner_stopped'
    group by f.cluster, f.node_id, f.process_seq
)
select
    f.cluster,
    f.node_id,
    f.process_seq,
    make_timestamp_ns(f.started_ns) as started_at,
    make_timestamp_ns(f.last_ns) as ended_at,
    case
        when e.effect = 'fatal' then 'fatal'
        when e.effect is not null then 'stopped'
        when f.next_ns is not null then 'killed'
        else 'end_of_logs'
    end as end_reason,
    f.started_ns,
    f.first_ns,
    f.last_ns,
    e.ns as stopping_ns,
    f.next_ns,
    f.file_id,
    f.line_no
from filled as f
left join ending as e on e.cluster = f.cluster and e.node_id = f.node_id and e.process_seq = f.process_seq
