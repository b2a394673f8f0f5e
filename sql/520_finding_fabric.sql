-- All ranks entered the collective and nobody finished it: the fabric or the devices, not a
-- straggler.
-- grain: one row a failure
-- reads: failure_lead, failure_signal, worker_event, fr_failure, fr_lateness, call_split, threshold
-- case: yes
-- note: Needs a line that states how many ranks there are and a time-out of each, or the Flight
-- note: Recorder dumps of every member of the group: a rank of which nothing is available may be
-- note: the one that never entered.
create or replace view finding_fabric as
select
    f.failure_id,
    'fabric' as finding,
    case
        when (timeout_count = 0 and d.job_id is null) or culprit_count > 0 then 'quiet'
        when d.outcome = 'all_entered' and absent_count = 0 then 'fired'
        when d.outcome in ('split', 'circle') or c.job_id is not null then 'quiet'
        when not f.is_world_stated
            or waiting_rank_count < greatest(rank_count, world_size) then 'blind'
        when f.seq_num is null and (t.job_id is null or f.fault_count > 0)
            and p.failure_id is null then 'blind'
        else 'fired'
    end as state,
    case when p.failure_id is not null then 'network' else 'gpu_fabric' end as failure_class,
    case when p.failure_id is not null then 'port_down' else 'all_ranks_pending' end
        as failure_kind,
    case when f.seq_num is null and d.job_id is null and p.failure_id is null
        and not f.is_storage_seen then 'undetermined' else 'innocent' end
        as storage_verdict,
    'all ' || case when d.outcome = 'all_entered' then d.member_count else f.rank_count end::varchar
        || ' ranks entered ' || coalesce(f.op_type, 'the collective')
        || coalesce(' number ' || f.seq_num::varchar, '') || ' and nobody finished it'
        || coalesce('; NCCL saw a port of ' || p.host || ' go down then', '')
        || case when f.seq_num is not null and f.numel_in is null
            and d.job_id is null
                then '; this PyTorch does not print of what size, so one rank may have called it '
                    'with another'
            else '' end
            as statement,
    [{'term': 'all_entered', 'file_id': f.file_id, 'line_no': f.line_no,
        'why': case
            when f.timeout_count > 0 then 'the first of the time-outs; every rank has one'
            else 'the first to enter; every member''s dump shows it unfinished' end},
        {'file_id': p.file_id, 'line_no': p.line_no, 'why': 'what NCCL says of a port'},
        {'file_id': l.file_id, 'line_no': l.place_no,
        'why': 'the collectives before it took ' || l.transfer_s::varchar
            || ' s from the last entry to the end, in the middle'}] as supports,
    [{'term': case when p.failure_id is not null or d.job_id is not null then null
        when f.seq_num is null then 'no_number' when f.numel_in is null then 'no_size' end}]
        as contradicts
from failure_lead as f
left join (
    select l.failure_id,
        arg_min(coalesce(w.host, 'rank ' || w.rank::varchar, 'a host'),
            (w.utc_ns, w.file_id, w.line_no))
            as host,
        arg_min(w.file_id, (w.utc_ns, w.file_id, w.line_no)) as file_id,
        arg_min(w.line_no, (w.utc_ns, w.file_id, w.line_no)) as line_no
    from failure_lead as l
    join threshold as r on r.name = 'port_reach_s'
    join worker_event as w on w.job_id = l.job_id and w.attempt = l.attempt
        and w.pattern = 'nccl_ib_port_down' and abs(w.utc_ns - l.stall_ns) <= r.value * 1e9
    group by l.failure_id
) as p on p.failure_id = f.failure_id
left join fr_failure as d on d.job_id = f.job_id and d.attempt = f.attempt
left join call_split as c on c.job_id = f.job_id and c.attempt = f.attempt
left join (select distinct job_id, attempt from failure_signal
    where signal = 'timeout' and pattern like 'nccl2%')
    as t
    on t.job_id = f.job_id
    and t.attempt = f.attempt
left join (
    select job_id, path_attempt, group_key, max(transfer_s) as transfer_s, min(file_id) as file_id,
        arg_min(place_no, file_id) as place_no
    from fr_lateness
    where transfer_s >= (select value from threshold where name = 'late_start_s')
    group by job_id, path_attempt, group_key
) as l on l.job_id = d.job_id and l.path_attempt = d.path_attempt and l.group_key = d.group_key
