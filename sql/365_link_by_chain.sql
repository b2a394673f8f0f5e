-- Ties a culprit to a node of AIStore by a chain that reached one of its requests, or by a batch
-- that held it.
-- grain: one row a failure, culprit rank and match of a chain
-- reads: failure_case, culprit_cause, storage_relation, chain_rank_match, get_batch_chain,
-- reads: get_batch_chain_step, batch_item, node_fault, job, job_cluster, fault_kind, node,
-- reads: worker_tail, worker_file, threshold
-- case: yes
-- note: What answers with an error at once makes no client wait until its time-out, no fault of a
-- note: node that takes connections keeps one from being made, and load is not why entries could
-- note: not be had; lack of space refuses writes, so it is no reason why a read failed. A chain
-- note: that ended long before the rank stopped ties only by a common request. A target that holds
-- note: a batch may wait for a sender: where the batch is of a chain that began at another node
-- note: before the others gave up, that node held it. starved: it waited in vain until the error
-- note: for what a target was to send that no line names. A batch of the job's bucket that waited
-- note: so while some ranks gave up waiting for the others ties without a rank's name.
create or replace view link_by_chain as
with reach as (
    select
        max(value::bigint * 1000000000) filter (where name = 'fault_slack_s') as slack_ns,
        max(value::bigint * 1000000000) filter (where name = 'stall_reach_s') as reach_ns,
        max(value::bigint * 1000000000) filter (where name = 'fault_bite_s') as bite_ns,
        max(value) filter (where name = 'cluster_sure') as sure
    from threshold
),
starved as (
    select distinct u.failure_id, u.witness_rank as rank, c.chain_id, b.node_id, b.began_ns,
        b.file_id, b.line_no
    from culprit_cause as u
    cross join reach as p
    join batch_item as b on b.is_starved and (b.wid = u.wid
        or b.ended_ns between u.crash_ns - p.slack_ns and u.crash_latest_ns + p.slack_ns)
    join get_batch_chain as c on c.cluster = b.cluster and list_contains(c.wids, b.wid)
),
weighed as (
    select
        m.*, c.suspect_node_id, c.fault_id, r.chain_weight,
        coalesce(c.suspect_node_id, b.node_id, c.designated_node_id) as tied_node_id,
        coalesce(c.fault_kind,
            case when c.suspect_node_id is null and b.chain_id is not null then 'batch_stuck' end)
            as fault_kind,
        case when c.fault_id is not null then 0.75 + 0.25 * c.fault_weight else 1.0 end
            * case when m.match_kind = 'time' and j.certainty < p.sure then j.certainty else 1.0 end
            * case when m.match_kind = 'time' and n.known_ns > u.crash_latest_ns + p.slack_ns
                and not regexp_matches(u.crash_pattern, 'time_?out') then 0.3 else 1.0 end
            as sureness,
        case when c.fault_id is not null then null when c.suspect_node_id is not null then 'suspect'
            when b.chain_id is null then 'no_suspect' end
            as cause_term,
        case when r.is_absence
            and (
                (c.suspect_node_id = u.crash_node_id
                    and c.fault_kind in ('hung', 'down', 'isolated'))
                or (m.match_kind = 'time' and r.missed_ns < c.started_ns - p.slack_ns)
                or (c.suspect_node_id is null and r.is_misnamed))
                then 'there_before'
            when m.match_kind <> 'wid' and k.takes_connections
            and regexp_matches(u.crash_text,
                'Failed to establish a new connection|onnect(ion)? ?[Tt]ime') then 'connects'
            when m.match_kind = 'time' and k.is_loud and u.crash_pattern = 'storage_timeout'
                then 'loud_fault'
            when m.match_kind = 'time' and u.request_pattern = 'mountpoint_s3_failed' then 'mounted'
            when m.match_kind = 'time' and not m.is_counted and c.fault_kind = 'disk_fault'
            and f.stall_ns - greatest(c.started_ns, f.started_ns) > 2 * p.bite_ns then 'not_counted'
            when m.match_kind = 'time' and contains(u.crash_text, '/v1/objects/') then 'other_kind'
            when m.match_kind <> 'wid' and c.fault_kind = 'out_of_space' and not r.is_write
                then 'other_kind'
            when m.match_kind <> 'time' and c.fault_kind = 'pressure'
            and u.crash_pattern = 'sdk_soft_errors_exceeded' then 'other_kind'
            when m.match_kind = 'time'
            and (c.fault_kind = 'pressure'
                or t.node_id <> coalesce(c.suspect_node_id, c.designated_node_id))
                then 'weak_fault' end
            as request_term
    from chain_rank_match as m
    join culprit_cause as u on u.failure_id = m.failure_id and u.witness_rank = m.rank
        and (u.crash_pattern is not null or u.request_outcome is not null)
    join storage_relation as r on r.failure_id = u.failure_id and r.rank is not distinct from u.rank
        and r.chain_weight > 0
    join failure_case as f on f.failure_id = m.failure_id
    join get_batch_chain as c on c.chain_id = m.chain_id
    left join job_cluster as j on j.job_id = f.job_id and j.attempt = f.attempt
        and j.cluster = c.cluster
    left join fault_kind as k on k.fault_kind = c.fault_kind
    left join node_fault as n on n.fault_id = c.fault_id and n.fault_kind = 'hung'
    left join starved as b on b.chain_id = c.chain_id and b.failure_id = m.failure_id
        and b.rank = m.rank
        and (not m.is_counted or (b.file_id = m.ais_file_id and b.line_no = m.ais_line_no))
    left join node as t on t.cluster = c.cluster and t.node_id = u.request_node_id
        and t.role = 'target' and u.request_outcome = 'error' and u.wid is null
        and u.received_count is null and not contains(coalesce(u.crash_text, ''), '/ml/moss')
    cross join reach as p
    where least(c.started_ns, b.began_ns) <= f.stall_ns + p.slack_ns
        and (c.ended_ns >= f.stall_ns - p.reach_ns or m.match_kind = 'wid')
        and (not coalesce(r.is_absence, false)
            or (c.ended_ns >= f.stall_ns - p.slack_ns and (k.takes_away or c.fault_id is null)))
    qualify row_number() over (partition by m.failure_id, m.rank, m.chain_id, m.match_kind
        order by b.node_id = u.request_node_id desc nulls last, b.began_ns, b.file_id, b.line_no)
        = 1
),
held as (
    select
        f.failure_id, u.witness_rank as rank, b.*, f.stall_ns, f.spoke_ns, p.slack_ns,
        coalesce(u.activity_file_id, u.basis_file_id) as client_file_id,
        coalesce(u.activity_line_no, u.basis_line_no) as client_line_no
    from failure_case as f
    cross join reach as p
    left join culprit_cause as u on u.failure_id = f.failure_id
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt join batch_item as b
        on b.cluster = c.cluster and b.ended_ns >= f.spoke_ns - p.slack_ns
            and b.began_ns between f.stall_ns - p.reach_ns and f.stall_ns + p.slack_ns
    cross join lateral (
        select '(^|[^\w./:-])' || regexp_escape(b.bucket) || '($|[^\w.-])' as words) as w
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
        and (regexp_matches(j.data_source, w.words) or exists (
            from worker_tail as t join worker_file as i on i.file_id = t.file_id
            where i.job_id = f.job_id and regexp_matches(t.text, w.words)))
    where f.hang_start_ns is not null
        and case when u.failure_id is null
            then b.is_starved and f.crash_count = 0 and f.timeout_count < f.world_size
            else u.culprit_count = 1 and u.crash_pattern is null
                and coalesce(u.activity, 'unknown')
                    in ('unknown', 'step', 'epoch_end', 'initialisation', 'storage_wait',
                        'data_loading', 'worker_wait') end
),
held_by as (
    select h.*, c.chain_id, coalesce(c.suspect_node_id, h.node_id) as holder_id,
        coalesce(c.fault_id, n.fault_id) as fault_id,
        coalesce(c.fault_kind, n.fault_kind, 'batch_stuck') as fault_kind
    from held as h
    left join (select distinct cluster, wid, chain_id from get_batch_chain_step) as s
        on s.cluster = h.cluster and s.wid = h.wid
    left join get_batch_chain as c on c.chain_id = s.chain_id and c.started_ns <= h.spoke_ns
        and c.suspect_node_id <> h.node_id and c.fault_id is not null
    left join node_fault as n on c.chain_id is null and n.cluster = h.cluster
        and n.node_id = h.node_id and n.weight >= 0.5
        and n.started_ns <= h.stall_ns and n.ended_ns >= h.spoke_ns
    qualify row_number() over (partition by h.failure_id, h.rank, h.node_id, h.wid
        order by c.fault_weight desc nulls last, c.chain_id, n.weight desc) = 1
)
select
    failure_id, rank,
    tied_node_id as node_id,
    'chain_' || case when is_counted then 'count' else match_kind end as link_kind,
    chain_id,
    fault_id,
    fault_kind,
    chain_weight * sureness as strength,
    lag_s,
    ais_file_id as file_id,
    ais_line_no as line_no,
    file_id as client_file_id,
    line_no as client_line_no,
    suspect_node_id is not null as is_suspect_known,
    list_filter([term, cause_term, request_term], lambda x: x is not null) as terms
from weighed
union all
select
    failure_id, rank, holder_id as node_id, 'held_batch' as link_kind, chain_id, fault_id,
    fault_kind, 1.0 as strength, (stall_ns - began_ns) / 1e9 as lag_s, file_id, line_no,
    client_file_id, client_line_no, true,
    [if(began_ns >= stall_ns - slack_ns, 'held_since', 'held_before')]
from held_by
qualify row_number() over (
    partition by failure_id, rank, holder_id
    order by began_ns >= stall_ns - slack_ns desc, ended_ns, wid) = 1
