-- One run of one AIStore daemon, from start to stop, kill or end of logs.
-- grain: one row a run of a node
-- reads: ais_event, ais_file, clock, stats_line, threshold
-- public: yes
-- stored: yes
-- note: A run begins with `Started up at`; a rotation continues it. killed: the next run began and
-- note: this one wrote no stop line. A log may also just end, as the rest was not fetched or went
-- note: with its folder: where no other node complained, and what is left of that time is longer
-- note: than outages are, it is only a gap. A start prints whole seconds: what is said of an end in
-- note: that second is the run before.
create or replace view node_process as
with line as (
    select
        cluster, node_id, utc_ns, file_id, line_no,
        case when severity <> 'I' then peer_node_id end as peer_node_id,
        severity <> 'I'
            and regexp_matches(text, 'refused|EOF|reset by peer|broken pipe|deadline exceeded')
                as is_cut
    from ais_event
    union all by name
    select f.cluster, f.node_id, s.local_ns - k.shift_ns as utc_ns, s.file_id, s.line_no
    from stats_line as s
    join ais_file as f on f.file_id = s.file_id
    join clock as k on k.file_id = s.file_id
),
start as (
    select cluster, node_id, utc_ns as started_ns, min(file_id) as file_id,
        arg_min(line_no, (file_id, line_no)) as line_no
    from ais_event where pattern = 'ais_process_started' group by cluster, node_id, utc_ns
),
node as (select cluster, node_id, min(utc_ns) as first_ns from line group by cluster, node_id),
run as (
    select cluster, node_id, started_ns, file_id, line_no,
        row_number() over (partition by cluster, node_id order by started_ns) as process_seq
    from start
    union all
    select n.cluster, n.node_id, null, null, null, 0
    from node as n
    where not exists (select 1 from start as s
        where s.cluster = n.cluster and s.node_id = n.node_id
            and s.started_ns <= n.first_ns + 1000000000)
),
bounded as (
    select
        r.*, coalesce(r.started_ns, -9000000000000000000) as low_ns,
        lead(r.started_ns)
            over (partition by r.cluster, r.node_id order by r.process_seq) as next_ns
    from run as r
),
filled as (
    select b.* exclude (low_ns), min(l.utc_ns) as first_ns, max(l.utc_ns) as last_ns
    from bounded as b
    left join line as l on l.cluster = b.cluster and l.node_id = b.node_id and l.utc_ns >= b.low_ns
        and l.utc_ns < coalesce(b.next_ns, 9000000000000000000)
    group by all
),
watched as (
    select
        f.cluster, f.node_id, f.process_seq,
        bool_or(l.peer_node_id = f.node_id or l.is_cut) as is_missed,
        max(l.utc_ns)
            filter (where l.utc_ns < f.next_ns - 5e9) - any_value(t.value)::bigint * 1000000000
                as met_ns
    from filled as f
    join threshold as t on t.name = 'notice_s'
    join line as l on l.cluster = f.cluster and l.node_id <> f.node_id
        and l.utc_ns between f.last_ns - 1e9 and f.next_ns + 5e9
    group by f.cluster, f.node_id, f.process_seq
),
ending as (
    select f.cluster, f.node_id, f.process_seq,
        arg_min(e.node_effect, (e.utc_ns, e.file_id, e.line_no)) as effect, min(e.utc_ns) as ns
    from filled as f
    join ais_event as e on e.cluster = f.cluster and e.node_id = f.node_id and e.subject = 'self'
        and e.node_effect in ('stopping', 'stopped', 'fatal')
        and e.utc_ns >= coalesce(f.started_ns + 1000000000, f.first_ns) and e.utc_ns <= f.last_ns
    where e.pattern <> 'ais_runner_stopped'
    group by f.cluster, f.node_id, f.process_seq
)
select
    f.cluster, f.node_id, f.process_seq,
    make_timestamp_ns(f.started_ns) as started_at, make_timestamp_ns(f.last_ns) as ended_at,
    case
        when e.effect = 'fatal' then 'fatal'
        when e.effect is not null then 'stopped'
        when not coalesce(w.is_missed, false)
            and f.next_ns - greatest(f.last_ns, w.met_ns) > t.value * 1e9 then 'gap'
        when f.next_ns is not null then 'killed'
        else 'end_of_logs'
    end as end_reason,
    f.started_ns, f.first_ns, f.last_ns, e.ns as stopping_ns, f.next_ns, f.file_id, f.line_no,
    case when w.is_missed then f.last_ns else greatest(f.last_ns, w.met_ns) end as alive_ns
from filled as f
left join ending as e on e.cluster = f.cluster and e.node_id = f.node_id
    and e.process_seq = f.process_seq
join threshold as t on t.name = 'outage_gap_s'
left join watched as w on w.cluster = f.cluster and w.node_id = f.node_id
    and w.process_seq = f.process_seq
