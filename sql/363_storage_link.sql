-- How strongly a culprit's trouble is tied to a node of AIStore: by a chain that reaches it, or a fault that was on when it stopped.
-- grain: one row a failure, culprit rank, node and kind of tie
-- reads: failure_case, culprit_cause, rank_request, unanswered_node, named_error, storage_relation, storage_gateway, chain_rank_match, get_batch_chain, node_fault, node, job_cluster, fault_kind, worker_file, clock, threshold
-- stored: yes
-- empty without: failure_case
-- empty without: chain_rank_match, node_fault, unanswered_node, named_error
-- note: A tie by time counts as far as what the rank was doing has to do with data, and the less the longer the job went on well after the fault began. Faults that ended before the rank stopped do not count, nor those that began after it, or after its error where its moment is known; a full disk ties to writes, what fails at once to an error, an object that is not there to nodes whose objects are away, a proxy to those who use it. It is weaker while the clock of the job is a guess, and for a rank that says nothing though the node refused connections: a client says so at once. A stack that shows a request in flight to the node ties it whatever the clock; one to another node speaks against it. Requests that one target left unanswered tie it whatever its own log says; so does an error that no pattern knows and that names what the rank could not read; an error that names a node ties it to that node's fault, and so do repeats that went on while the others waited: of a daemon that drowns in goroutines these alone tell. A connection that was closed without an answer is what a handler that panics does to its client. A broken batch at the same moment is worth half where the rank's error names a plain read, or where only writes would have met its fault. To a cluster that is only likely the job's, ties by time are worth less.
create or replace view storage_link as
with slack as (
    select max(value::bigint * 1000000000) filter (where name = 'fault_slack_s') as ns, max(value::bigint * 1000000000) filter (where name = 'stall_reach_s') as reach_ns, max(value) filter (where name = 'fault_bite_s') as bite_s, max(value) filter (where name = 'cluster_sure') as sure from threshold
),
sureness as (
    select w.job_id, case when bool_or(k.method = 'assumed') then t.value else 1.0 end as factor
    from worker_file as w join clock as k on k.file_id = w.file_id join threshold as t on t.name = 'assumed_clock_factor'
    where w.kind = 'worker_log' group by w.job_id, t.value
),
chained as (
    select
        m.failure_id, m.rank, coalesce(c.suspect_node_id, c.designated_node_id) as node_id, 'chain_' || case when m.is_counted then 'count' else m.match_kind end as link_kind, m.chain_id, c.fault_id, c.fault_kind,
        r.chain_weight * m.score * case when c.fault_id is not null then 0.75 + 0.25 * c.fault_weight when c.suspect_node_id is not null then 0.85 else 0.7 end * case when m.match_kind = 'time' and j.certainty < s.sure then j.certainty else 1.0 end * case when m.match_kind = 'time' and (contains(u.crash_text, '/v1/objects/') or (c.fault_kind = 'out_of_space' and not r.is_write)) then 0.5 else 1.0 end as score,
        m.lag_s, m.ais_file_id as file_id, m.ais_line_no as line_no, m.file_id as client_file_id, m.line_no as client_line_no, c.suspect_node_id is not null as is_suspect_known
    from chain_rank_match as m
    join culprit_cause as u on u.failure_id = m.failure_id and u.witness_rank = m.rank
    join storage_relation as r on r.failure_id = u.failure_id and r.rank is not distinct from u.rank and r.chain_weight > 0
    join failure_case as f on f.failure_id = m.failure_id
    join get_batch_chain as c on c.chain_id = m.chain_id
    left join job_cluster as j on j.job_id = f.job_id and j.attempt = f.attempt and j.cluster = c.cluster
    left join fault_kind as k on k.fault_kind = c.fault_kind cross join slack as s
    where c.started_ns <= f.stall_ns + s.ns and (c.ended_ns >= f.stall_ns - s.reach_ns or m.match_kind = 'wid') and (u.crash_pattern is not null or u.request_outcome is not null)
        and (not coalesce(r.is_absence, false) or (c.ended_ns >= f.stall_ns - s.ns and (k.takes_away or c.fault_id is null)))
),
asked as (
    select r.failure_id, r.rank, r.node_id, r.outcome = 'pending' as is_pending, max(r.to_ns) as to_ns, min(r.file_id) as file_id, arg_min(r.line_no, r.file_id) as line_no from rank_request as r
    join node as n on n.cluster = r.cluster and n.node_id = r.node_id and (n.role = 'target' or r.outcome = 'retry')
    where r.outcome in ('pending', 'error', 'retry', 'short', 'missing') group by r.failure_id, r.rank, r.node_id, r.outcome = 'pending'
),
faulty as (
    select
        f.failure_id, f.job_id, u.witness_rank as rank, n.node_id, n.fault_kind, n.fault_id, case when n.fault_kind = 'handler_panic' and r.is_dropped then 0.9 when n.fault_kind = 'goroutines' and q.node_id is null then 0.0 else n.weight end as weight, n.file_id, n.line_no, r.time_weight, r.stale_weight, r.is_silent, r.has_error,
        (f.stall_ns - n.started_ns) / 1e9 as lag_s, s.bite_s, q.node_id is not null as is_asked,
        coalesce(q.file_id, u.crash_file_id, u.activity_file_id, u.basis_file_id) as client_file_id, coalesce(q.line_no, u.crash_line_no, u.activity_line_no, u.basis_line_no) as client_line_no,
        case when (n.fault_kind = 'out_of_space' and not r.is_write) or (k.is_loud and r.is_silent and u.request_outcome is null) then 0.2 else 1.0 end
            * case when n.role is distinct from 'proxy' then 1.0 when g.node_ids is null then 0.75 when list_contains(g.node_ids, n.node_id) then 1.0 else 0.2 end
            * case when r.is_absence and not k.takes_away then 0.2 when r.is_silent and u.request_outcome is null and k.is_refusing and q.node_id is null then w.value else 1.0 end
            * case when c.certainty >= s.sure then 1.0 else c.certainty end
            * case when q.node_id is null and exists (select 1 from asked as o where o.is_pending and o.failure_id = f.failure_id and o.rank = u.witness_rank) then 0.5 else 1.0 end as fit
    from failure_case as f join culprit_cause as u on u.failure_id = f.failure_id
    join storage_relation as r on r.failure_id = u.failure_id and r.rank is not distinct from u.rank
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    cross join slack as s
    join threshold as w on w.name = 'unsaid_refusal_factor'
    join node_fault as n on n.cluster = c.cluster and (n.weight >= 0.3 or n.fault_kind = 'goroutines') and n.started_ns <= case when u.crash_latest_ns <= u.crash_ns + 1000000000 then greatest(f.stall_ns, u.crash_ns) else f.stall_ns end + s.ns and n.ended_ns >= f.stall_ns - s.ns
    left join fault_kind as k on k.fault_kind = n.fault_kind
    left join asked as q on q.failure_id = f.failure_id and q.rank = u.witness_rank and q.node_id = n.node_id and case when u.crash_pattern is not null then not q.is_pending and q.to_ns >= f.stall_ns - s.reach_ns else q.is_pending or q.to_ns > f.stall_ns + s.ns end
    left join storage_gateway as g on g.failure_id = f.failure_id and g.rank = u.witness_rank
),
timed as (
    select
        failure_id, rank, node_id, case when is_asked and has_error then 'error_node' when is_asked then 'request_node' when fault_kind = 'stale_membership' then 'stale_membership' else 'fault_time' end as link_kind, null as chain_id, fault_id, fault_kind,
        fit * case
            when is_asked then case when has_error then weight * least(time_weight + 0.2, 0.9) else greatest(weight, stale_weight) * 0.98 end
            when fault_kind = 'stale_membership' then stale_weight
            else weight * time_weight * greatest(case when is_silent then 0.3 when has_error then 0.85 else 0.75 end, least(1.0, 1.0 - (lag_s - bite_s) / (3 * bite_s)))
        end as score,
        lag_s, file_id, line_no, client_file_id, client_line_no, true as is_suspect_known from faulty
),
unmet as (
    select q.failure_id, q.rank, q.node_id, q.link_kind, null as chain_id, null as fault_id, k.fault_kind, r.chain_weight * k.weight * q.strength as score,
        0.0 as lag_s, q.file_id, q.line_no, q.client_file_id, q.client_line_no, true as is_suspect_known
    from (select failure_id, rank, node_id, 'unanswered' as link_kind, 'unanswered' as fault_kind, 0.9 as strength, file_id, line_no, file_id as client_file_id, line_no as client_line_no from unanswered_node
        union all select failure_id, rank, node_id, 'error_line', 'unexplained', 1.1, file_id, line_no, client_file_id, client_line_no from named_error) as q join fault_kind as k on k.fault_kind = q.fault_kind and q.node_id is not null
    join culprit_cause as u on u.failure_id = q.failure_id and u.witness_rank = q.rank
    join storage_relation as r on r.failure_id = u.failure_id and r.rank is not distinct from u.rank
),
scored as (
    select t.* replace (t.score * case when t.link_kind in ('chain_time', 'chain_count', 'fault_time', 'stale_membership') then coalesce(s.factor, 1.0) else 1.0 end as score)
    from (select * from chained union all select * from timed union all select * from unmet) as t join failure_case as f on f.failure_id = t.failure_id left join sureness as s on s.job_id = f.job_id
)
select failure_id, rank, node_id, link_kind, chain_id, fault_id, fault_kind, least(score, 0.98)::double as score, round(lag_s::double, 3) as lag_s, file_id, line_no, client_file_id, client_line_no, is_suspect_known
from scored
