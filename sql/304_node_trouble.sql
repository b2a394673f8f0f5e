-- A span in which an AIStore node was there but could not serve as it should: out of space, disk, memory, load, refusing, rebalancing.
-- grain: one row a kind of trouble of a node and span
-- reads: node_witness, threshold
-- stored: yes
-- note: Alerts repeat every 10 to 60 s while they last; a longer silence ends the span. A line about a disk tells of the time before it (disk_line_s), so a disk that moves nothing began to hang that much earlier; fewer than stuck_disk_lines such lines, or lines of load that is not critical, tell of a busy node and accuse none. A disk that is busy with less than 1 MiB/s is under no load: fewer than as many such lines are nothing. A stuck batch has been so for the time its line says. Warnings that no pattern knows are something only if they are as many.
create or replace view node_trouble as
with sign as (
    select
        cluster, node_id, utc_ns, utc_ns - coalesce(case when effect = 'batch_stuck' then age_ns end, 0) as since_ns, file_id, line_no, text, effect, pattern = 'other_error' as is_error,
        case
            when effect = 'out_of_space' or (effect = 'io_error' and contains(text, 'no space left on device')) then 'out_of_space'
            when effect in ('disk_fault', 'mountpath_disabled') then 'disk_fault'
            when effect in ('oom', 'low_memory') then 'memory'
            when effect = 'pressure' and pattern = 'ais_disk_busy' and not regexp_matches(text, '[MGT]i?B/s') then 'disk_slow'
            when effect in ('pressure', 'throttled') then 'pressure'
            when effect in ('disk_stuck', 'rejecting', 'cpu_high', 'low_space') then effect
            when effect in ('rebalance_started', 'rebalance_aborted') then 'rebalance'
            when effect = 'resilver' then 'resilver'
            when effect in ('batches_aborted', 'jobs_refused', 'batch_stuck', 'corrupt', 'evicting', 'files_exhausted', 'misplaced_removed', 'mover_closed', 'restore_failed') then effect
            when effect = 'io_error' then 'disk_errors'
            when effect = 'backend_failed' then 'backend'
            when effect = 'certificate_expired' then 'certificate'
            when effect = 'primary_changed' then 'primary_change'
            when effect = 'goroutines_high' then 'goroutines'
            when effect = 'handler_panic' then 'handler_panic'
            when effect = 'unknown_error' then 'unexplained'
        end as fault_kind
    from node_witness
),
closing as (
    select
        cluster, node_id, utc_ns,
        case effect
            when 'mountpath_enabled' then 'disk_fault' when 'memory_ok' then 'memory' when 'cpu_ok' then 'cpu_high'
            when 'rebalance_done' then 'rebalance' when 'space_ok' then 'out_of_space'
        end as fault_kind
    from node_witness
    where effect in ('mountpath_enabled', 'memory_ok', 'cpu_ok', 'rebalance_done', 'space_ok')
),
marked as (
    select *, utc_ns - lag(utc_ns) over (partition by cluster, node_id, fault_kind order by utc_ns) as gap_ns
    from sign
    where fault_kind is not null
),
numbered as (
    select *, sum(case when gap_ns is null or gap_ns > (select value * 1000000000 from threshold where name = 'fault_gap_s') then 1 else 0 end)
        over (partition by cluster, node_id, fault_kind order by utc_ns) as span_no
    from marked
),
span as (
    select
        cluster, node_id, fault_kind, span_no,
        min(since_ns) as started_ns, max(utc_ns) as last_sign_ns, count(*) as sign_count, bool_or(is_error) as has_error, coalesce(bool_or(regexp_matches(text, '(?i)critical|extreme')), false) as is_critical,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id, arg_min(line_no, (utc_ns, file_id, line_no)) as line_no, arg_min(text, (utc_ns, file_id, line_no)) as text
    from numbered
    group by cluster, node_id, fault_kind, span_no
)
select
    s.cluster,
    s.node_id,
    case when s.fault_kind in ('disk_stuck', 'pressure') and s.sign_count < k.value and not s.is_critical then 'busy' when s.fault_kind = 'disk_slow' then 'pressure' else s.fault_kind end as fault_kind,
    case when s.fault_kind = 'disk_stuck' then s.started_ns - b.value::bigint * 1000000000 else s.started_ns end as started_ns,
    coalesce(
        (
            select min(c.utc_ns) from closing as c
            where c.cluster = s.cluster and c.node_id = s.node_id and c.fault_kind = s.fault_kind and c.utc_ns >= s.last_sign_ns
                and c.utc_ns - s.last_sign_ns < 7200000000000
        ),
        s.last_sign_ns + 20000000000
    ) as ended_ns,
    s.last_sign_ns,
    s.sign_count,
    s.file_id,
    s.line_no,
    s.text
from span as s
join threshold as b on b.name = 'disk_line_s'
join threshold as k on k.name = 'stuck_disk_lines'
where (s.fault_kind <> 'disk_slow' or s.sign_count >= k.value) and (s.fault_kind <> 'unexplained' or s.has_error or s.sign_count >= k.value)
