-- How strongly a culprit's trouble is tied to a node of AIStore: by a chain that reaches it, or a fault that was on when it stopped.
-- grain: one row a failure, culprit rank, node and kind of tie
-- reads: failure_case, culprit_cause, chain_rank_match, get_batch_chain, node_fault, job_cluster, worker_file, clock, threshold
-- stored: yes
-- note: A tie by time counts as far as what the rank was doing has to do with data: a rank seen in its checkpoint code while a target is away is hardly tied, and a tie by time is weaker while the clock of the job is a guess. Faults that ended before the rank stopped do not count.
create or replace view storage_link as
with slack as (
    select value::bigint * 1000000000 as ns from threshold where name = 'fault_slack_s'
),
sureness as (
    select w.job_id, case when bool_or(k.method = 'assumed') then t.value else 1.0 end as factor
    from worker_file as w
    join clock as k on k.file_id = w.file_id
    join threshold as t on t.name = 'assumed_clock_factor'
    where w.kind = 'worker_log'
    group by w.job_id, t.value
),
chained as (
    select
        m.failure_id, m.rank, coalesce(c.suspect_node_id, c.designated_node_id) as node_id, 'chain_' || m.match_kind as link_kind,
        m.chain_id, c.fault_id, c.fault_kind,
        m.score * case when c.fault_id is not null then 0.75 + 0.25 * c.fault_weight when c.suspect_node_id is not null then 0.85 else 0.7 end as score,
        m.lag_s, m.ais_file_id as file_id, m.ais_line_no as line_no, m.file_id as client_file_id, m.line_no as client_line_no,
        c.suspect_node_id is not null as is_suspect_known
    from chain_rank_match as m
    join culprit_cause as u on u.failure_id = m.failure_id and u.rank = m.rank
    join failure_case as f on f.failure_id = m.failure_id
    join get_batch_chain as c on c.chain_id = m.chain_id
    cross join slack as s
    where c.started_ns <= f.stall_ns + s.ns and (c.ended_ns >= f.stall_ns - 90000000000 or m.match_kind = 'wid')
        and (u.crash_pattern is not null or u.request_outcome is not null)
),
timed as (
    select
        f.failure_id, u.rank, n.node_id, 'fault_time' as link_kind, null as chain_id, n.fault_id, n.fault_kind,
        n.weight * case
            when u.crash_class in ('storage_io', 'data_loading_stall') then 0.8
            when u.crash_class = 'network' then 0.6
            when u.crash_class = 'data' and regexp_matches(u.crash_pattern, 'missing|not_found|truncated|short|stop_iteration') then 0.75
            when u.crash_pattern is not null then 0.1
            when u.activity = 'storage_wait' then 0.9
            when u.activity in ('data_loading', 'worker_wait', 'batch_preparation') then 0.78
            when u.activity in ('unknown', 'step', 'epoch_end', 'initialisation') then 0.68
            when u.activity in ('checkpoint', 'evaluation') then 0.4
            else 0.15
        end * case when c.certainty >= 0.7 then 1.0 else c.certainty end as score,
        (f.stall_ns - n.started_ns) / 1e9 as lag_s, n.file_id, n.line_no, coalesce(u.crash_file_id, u.activity_file_id, u.basis_file_id) as client_file_id,
        coalesce(u.crash_line_no, u.activity_line_no, u.basis_line_no) as client_line_no, true as is_suspect_known
    from failure_case as f
    join culprit_cause as u on u.failure_id = f.failure_id
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    cross join slack as s
    join node_fault as n on n.cluster = c.cluster and n.weight >= 0.3 and n.fault_kind <> 'stale_membership'
        and n.started_ns <= f.stall_ns + s.ns and n.ended_ns >= f.stall_ns - s.ns
),
stale as (
    select
        f.failure_id, u.rank, n.node_id, 'stale_membership' as link_kind, null as chain_id, n.fault_id, n.fault_kind,
        case when u.activity in ('storage_wait', 'data_loading', 'worker_wait') or u.crash_class in ('storage_io', 'data_loading_stall') then 0.85 when u.activity in ('unknown', 'step', 'epoch_end') and u.crash_pattern is null then 0.66 else 0.2 end as score,
        (f.stall_ns - n.started_ns) / 1e9 as lag_s, n.file_id, n.line_no, coalesce(u.crash_file_id, u.activity_file_id, u.basis_file_id) as client_file_id,
        coalesce(u.crash_line_no, u.activity_line_no, u.basis_line_no) as client_line_no, true as is_suspect_known
    from failure_case as f
    join culprit_cause as u on u.failure_id = f.failure_id
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join node_fault as n on n.cluster = c.cluster and n.fault_kind = 'stale_membership' and n.started_ns <= f.stall_ns and n.ended_ns >= f.stall_ns
),
scored as (
    select t.* replace (t.score * case when t.link_kind in ('chain_time', 'fault_time', 'stale_membership') then coalesce(s.factor, 1.0) else 1.0 end as score)
    from (select * from chained union all select * from timed union all select * from stale) as t
    join failure_case as f on f.failure_id = t.failure_id
    left join sureness as s on s.job_id = f.job_id
)
select failure_id, rank, node_id, link_kind, chain_id, fault_id, fault_kind, least(score, 0.98)::double as score, round(lag_s::double, 3) as lag_s,
    file_id, line_no, client_file_id, client_line_no, is_suspect_known
from scored
