-- A span in which an AIStore node was there but could not serve as it should: out of space, disk,
-- memory, load, refusing, rebalancing.
-- grain: one row a kind of trouble of a node and span
-- reads: node_witness, node_coverage, threshold
-- stored: yes
-- note: Alerts repeat every 10 to 60 s while they last; a longer silence ends the span. A line
-- note: about a disk tells of the time before it (disk_line_s), so a disk that moves nothing began
-- note: to hang that much earlier; fewer than stuck_disk_lines such lines, or lines of load that is
-- note: not critical, tell of a busy node and accuse none. I/O errors that are only counted, as a
-- note: missing object is, are no trouble where the node's own check (FSHC) finds a disk healthy
-- note: right after. is_held: the trouble stays until a line says that it is over; is_moved:
-- note: nothing lay on the disk any more as it went out of service.
create or replace view node_trouble as
with sign as (
    select
        cluster, node_id, utc_ns, file_id, line_no, text,
        utc_ns - coalesce(case when effect = 'batch_stuck' then age_ns end, 0) as since_ns,
        pattern = 'other_error' as is_error,
        coalesce(nullif(regexp_extract(text, '\bmp\[(/[^], ]+)', 1), ''),
            nullif(regexp_extract(text, '(/[^] ]+)(?:\(-\)|: \([a-z>-]+\)$)', 1), '')) as mountpath,
        effect in ('mountpath_enabled', 'memory_ok', 'cpu_ok', 'rebalance_done', 'space_ok')
            as is_end,
        effect = 'mountpath_disabled' as is_held,
        effect = 'mountpath_moved' as is_moved,
        case
            when effect = 'space_ok'
                or (effect = 'io_error' and contains(text, 'no space left on device'))
                then 'out_of_space'
            when effect = 'pressure' and pattern = 'ais_disk_busy'
                and not regexp_matches(text, '[MGT]i?B/s') then 'disk_slow'
            when starts_with(effect, 'mountpath_') then 'disk_fault'
            when effect in ('oom', 'low_memory', 'memory_ok') then 'memory'
            when effect = 'throttled' then 'pressure'
            when effect = 'cpu_ok' then 'cpu_high'
            when starts_with(effect, 'rebalance_') then 'rebalance'
            when effect = 'io_error' then 'disk_errors'
            when effect = 'backend_failed' then 'backend'
            when effect = 'certificate_expired' then 'certificate'
            when effect = 'primary_changed' then 'primary_change'
            when effect = 'goroutines_high' then 'goroutines'
            when effect = 'unknown_error' then 'unexplained'
            when effect in ('disk_fault', 'out_of_space', 'pressure', 'disk_stuck', 'rejecting',
                'cpu_high', 'low_space', 'resilver', 'batches_aborted', 'jobs_refused',
                'batch_stuck', 'corrupt', 'evicting', 'files_exhausted', 'misplaced_removed',
                'mover_closed', 'restore_failed', 'handler_panic') then effect
        end as fault_kind
    from node_witness as w
    where not coalesce(regexp_matches(text, '## IO errors|FSHC to check all'), false)
        or not exists (from node_witness as h
            join threshold as t on t.name = 'fault_slack_s'
            where h.effect = 'disk_healthy' and h.cluster = w.cluster and h.node_id = w.node_id
                and h.utc_ns - w.utc_ns between 0 and t.value * 1000000000)
),
logs as (
    select c.cluster, max(c.ended_ns) + any_value(t.value)::bigint * 1000000000 as ended_ns
    from node_coverage as c
    join threshold as t on t.name = 'stopped_open_s'
    group by c.cluster
),
marked as (
    select *,
        utc_ns - lag(utc_ns)
            over (partition by cluster, node_id, fault_kind order by utc_ns) as gap_ns
    from sign
    where fault_kind is not null and not is_end and not is_moved
),
numbered as (
    select *, sum(case when gap_ns is null or gap_ns > g.value * 1000000000 then 1 else 0 end)
        over (partition by cluster, node_id, fault_kind order by utc_ns) as span_no
    from marked as m
    join threshold as g
        on g.name
            = case m.fault_kind when 'batches_aborted' then 'fault_slack_s' else 'fault_gap_s' end
),
span as (
    select
        cluster, node_id, fault_kind, span_no,
        min(since_ns) as started_ns, max(utc_ns) as last_sign_ns, count(*) as sign_count,
        bool_or(is_held) as is_held, bool_or(is_error) as has_error,
        string_agg(distinct mountpath, ', ' order by mountpath) as mountpaths,
        coalesce(bool_or(regexp_matches(text, '(?i)critical|extreme')), false) as is_critical,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
        arg_min(text, (utc_ns, file_id, line_no)) as text
    from numbered
    group by cluster, node_id, fault_kind, span_no
),
over as (
    select s.*, (
        select min(c.utc_ns) from sign as c
        where c.is_end and c.cluster = s.cluster and c.node_id = s.node_id
            and c.fault_kind = s.fault_kind and c.utc_ns >= s.last_sign_ns
            and (s.is_held or c.utc_ns - s.last_sign_ns < 7200000000000)
    ) as shown_end_ns
    from span as s
)
select
    s.cluster,
    s.node_id,
    case when s.fault_kind in ('disk_stuck', 'pressure') and s.sign_count < k.value
        and not s.is_critical then 'busy' when s.fault_kind = 'disk_slow' then 'pressure'
        else s.fault_kind end
        as fault_kind,
    case when s.fault_kind = 'disk_stuck' then s.started_ns - b.value::bigint * 1000000000
        else s.started_ns end
        as started_ns,
    coalesce(
        s.shown_end_ns,
        case
            when s.is_held and not exists (
                from sign as m
                    where m.is_moved and m.cluster = s.cluster and m.node_id = s.node_id
                    and m.utc_ns between s.started_ns and s.last_sign_ns + g.value * 1000000000
            ) then greatest(l.ended_ns, s.last_sign_ns)
        end,
        case when s.fault_kind <> 'batches_aborted' then s.last_sign_ns + 20000000000 end,
        s.last_sign_ns
    ) as ended_ns,
    s.shown_end_ns,
    s.last_sign_ns,
    s.sign_count,
    s.mountpaths,
    s.file_id,
    s.line_no,
    s.text
from over as s
left join logs as l on l.cluster = s.cluster
join threshold as g on g.name = 'fault_gap_s'
join threshold as b on b.name = 'disk_line_s'
join threshold as k on k.name = 'stuck_disk_lines'
where (s.fault_kind <> 'disk_slow' or s.sign_count >= k.value)
    and not (s.fault_kind = 'disk_errors' and exists (
        from span as d
        join threshold as w on w.name = 'fault_slack_s'
        where d.fault_kind = 'disk_fault' and d.cluster = s.cluster and d.node_id = s.node_id
            and abs(d.started_ns - s.started_ns) <= w.value * 1000000000
            and coalesce(contains(d.mountpaths, s.mountpaths)
                or contains(s.mountpaths, d.mountpaths), true)))
    and (s.fault_kind <> 'unexplained' or s.has_error or s.sign_count >= k.value)
