-- An event of a failure, from all sources, in order.
-- grain: one row an event
-- reads: failure_case, failure, job_cluster, node_fault, failure_chain, get_batch_chain_step,
-- reads: failure_signal, rank_state, ingested_file, fault_kind, node_witness, failure_comeback,
-- reads: fr_place, step_slowdown
-- public: yes
-- case: kept
-- note: weight 1 is what the report shows, but for repeats, 2 is context, 3 is everything else.
-- note: is_exact is false where a line has no time of its own: event_at is then the latest moment
-- note: that fits; of a fault whose begin no line dates, the earliest. A rank says nothing after
-- note: the second in which the launcher saw it end, nor one that is the culprit alone after the
-- note: launcher's first signal to the others. Of the launcher's lines about one death that of its
-- note: table is shown. A crash after which its rank tried on is an error. A step of a chain whose
-- note: line a fault cites is context.
create or replace view timeline as
with used as (
    select f.failure_id, f.job_id, f.attempt, epoch_ns(f.window_started_at) as started_ns,
        epoch_ns(f.window_ended_at) as ended_ns, epoch_ns(f.hang_started_at) as hang_start_ns,
        len(f.culprit_ranks) = 1 as is_alone, c.cluster
    from failure as f
    left join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
),
fault as (
    select u.failure_id, n.started_ns as utc_ns, n.is_dated as is_exact,
        'ais' as source, n.node_id, null::integer as rank,
        case when n.weight >= 0.5 and n.fault_kind not in ('batches_aborted', 'jobs_refused') then 1
            when n.weight >= 0.2 then 2 else 3 end
            as weight,
        n.role || ' ' || n.node_id || ' ' || k.broke_words
            || coalesce(' ' || n.moment_words, '') || coalesce(' (' || n.detail || ')', '')
                as text,
        n.file_id, n.line_no
    from used as u
    join node_fault as n on n.cluster = u.cluster and n.started_ns <= u.ended_ns + 60000000000
        and n.ended_ns >= u.started_ns - 300000000000
    join fault_kind as k on k.fault_kind = n.fault_kind
),
back as (
    select u.failure_id, if(o.effect = 'removed', o.utc_ns, n.ended_ns) as utc_ns, true as is_exact,
        'ais' as source, n.node_id, null::integer as rank, if(b.node_id is null, 2, 1) as weight,
        n.role || ' ' || n.node_id
            || if(o.effect = 'removed', ' was taken off the cluster map', ' is back') as text,
        o.file_id, o.line_no
    from used as u
    join node_fault as n on n.cluster = u.cluster and n.weight >= 0.8
        and n.ended_ns between u.started_ns - 300000000000 and u.ended_ns + 60000000000
        and n.fault_kind
            in ('killed', 'crashed', 'hung', 'down', 'stopped', 'isolated', 'maintenance')
    join node_witness as o on o.cluster = n.cluster and o.node_id = n.node_id
        and case when o.effect in ('ready', 'back') then abs(o.utc_ns - n.ended_ns) < 1000000
            else o.effect = 'removed' and o.utc_ns between n.started_ns and n.ended_ns end
    left join failure_comeback as b on b.failure_id = u.failure_id and b.node_id = n.node_id
    qualify row_number()
        over (partition by u.failure_id, n.node_id, n.ended_ns, o.effect = 'removed'
            order by if(o.effect = 'removed', o.utc_ns, abs(o.utc_ns - n.ended_ns)), o.file_id,
            o.line_no)
            = 1
),
step as (
    select c.failure_id, s.utc_ns, true as is_exact, 'ais' as source, s.node_id,
        null::integer as rank,
        case when c.is_verdict and s.step <> 'cleanup'
            and s.utc_ns <= f.stall_ns + 30000000000
            and not exists (
                from fault as n where n.failure_id = c.failure_id and n.weight = 1
                    and n.file_id = s.file_id and n.line_no = s.line_no) then 1 else 2 end
            as weight,
        replace(s.step, '_', ' ') || coalesce(' ' || s.wid, '') || ': ' || s.message
            || case when s.repeat_count > 1 then ' (' || s.repeat_count::varchar || ' times)'
                else '' end
                as text,
        s.file_id, s.line_no
    from failure_chain as c
    join get_batch_chain_step as s on s.chain_id = c.chain_id
        and not starts_with(s.message, 'begins: ')
    join failure_case as f on f.failure_id = c.failure_id
),
word as (
    select u.failure_id, coalesce(s.stamp_source, '') in ('own', 'wrapper') as is_exact,
        'worker' as source, s.rank, s.file_id, s.line_no, s.message, r.role,
        if(s.signal = 'crash' and s.latest_ns + 1000000000 < max(s.utc_ns) filter (
            where s.signal in ('crash', 'retry', 'error') and is_exact)
            over (partition by u.failure_id, s.rank), 'error', s.signal) as signal,
        case when is_exact then s.utc_ns
            else greatest(
                least(s.latest_ns, case when r.role = 'culprit' then u.hang_start_ns end,
                    case
                        when s.signal <> 'exit'
                            then min(s.utc_ns) filter (where s.signal = 'exit')
                                over (partition by u.failure_id, s.rank) + 999999999 end,
                    case when r.role = 'culprit' and u.is_alone then min(s.utc_ns)
                        filter (where s.pattern = 'torchrun_closing_signal' and is_exact)
                        over (partition by u.failure_id) end),
                s.utc_ns) end
            as utc_ns,
        row_number()
            over (partition by u.failure_id, s.signal order by s.utc_ns, s.file_id, s.line_no)
                as signal_no,
        count(*) over (partition by u.failure_id, s.signal) as signal_count,
        s.signal = 'timeout' and bool_or(s.signal = 'notified')
            over (partition by u.failure_id, s.file_id, s.line_no) as is_told
    from (select distinct failure_id, job_id, attempt, hang_start_ns, is_alone from used) as u
    join failure_signal as s on s.job_id = u.job_id and s.attempt = u.attempt
        and s.signal is not null
    left join rank_state as r on r.failure_id = u.failure_id and r.rank = s.rank
    qualify s.signal <> 'killed' or not starts_with(coalesce(s.pattern, ''), 'torchrun_worker_')
        or not bool_or(s.pattern = 'torchrun_failure_entry' and s.signal = 'killed')
            over (partition by u.failure_id, s.rank, s.exit_code)
),
spoken as (
    select failure_id, utc_ns, is_exact, source, null::varchar as node_id, rank,
        case
            when role = 'culprit' and signal in ('crash', 'killed', 'error', 'retry') then 1
            when signal in ('timeout', 'names_peer', 'launcher', 'cancel') and signal_no = 1 then 1
            when signal in ('crash', 'killed', 'exit', 'chained', 'retry', 'notified', 'cancel')
                then 2
                else 3
        end as weight,
        replace(signal, '_', ' ') || if(is_told, ': another rank says: ', ': ')
            || coalesce(message, '')
            || case when signal in ('timeout', 'names_peer') and signal_no = 1
                and signal_count > 1 then ' (and ' || (signal_count - 1)::varchar
                    || ' more like it)'
                else '' end
                as text,
        file_id, line_no
    from word
),
hang as (
    select f.failure_id, f.hang_start_ns as utc_ns, true as is_exact, 'ranks' as source,
        null::varchar as node_id, null::integer as rank, 1 as weight,
        if(f.waiting_count > 0, f.waiting_count::varchar || ' ', '')
            || if(f.waiting_count = 1, 'rank begins', 'ranks begin') || ' to wait'
            || if(f.is_split, ', the earliest in ', ' in ')
            || coalesce(f.op_type, 'a collective') || coalesce(' number ' || f.seq_num::varchar, '')
            || if(f.is_start_dumped, ' (inferred from the Flight Recorder dumps)',
                ' (inferred from the time-out line)')
                as text,
        f.file_id, case when q.file_id is null then f.line_no end as line_no
    from failure_case as f
        left join fr_place as q on q.file_id = f.file_id and q.place_no = f.line_no
    where f.hang_start_ns is not null
),
slow as (
    select s.failure_id, s.since_ns as utc_ns, s.is_exact, 'ranks' as source,
        null::varchar as node_id, s.rank, case when s.place = 1 then 1 else 3 end as weight,
        'slower than before: ' || s.statement as text, s.file_id, s.line_no
    from step_slowdown as s
),
every as (
    select * from fault union all by name select * from back union all by name select * from step
        union all by name select * from spoken union all by name select * from hang
        union all by name select * from slow
)
select distinct
    e.failure_id,
    make_timestamp_ns(e.utc_ns) as event_at,
    e.is_exact,
    e.source, e.node_id, e.rank, e.weight, e.text,
    p.path, e.line_no, e.file_id
from every as e
left join ingested_file as p on p.file_id = e.file_id
where e.utc_ns is not null
