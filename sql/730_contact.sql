-- Who touched whom: a rank that asked AIStore, or a node that met another in a batch chain.
-- grain: one row a request of a rank, or step of a chain between two nodes
-- reads: rank_request, get_batch_chain_step, get_batch_chain
-- public: yes
-- note: outcome of a request is error, missing, short, retry, recovered, pending, chained or note;
-- note: of a step it is the step. A step has no failure_id: chain_rank_match ties chains to ranks.
create or replace view contact as
select
    r.failure_id, r.job_id, r.attempt, r.cluster, 'rank' as from_kind, r.rank,
    null::varchar as from_node_id, r.node_id, coalesce(r.endpoint, r.url) as address,
    r.bucket, r.object, r.wid, r.xid, make_timestamp_ns(r.from_ns) as from_at,
    make_timestamp_ns(r.to_ns) as to_at, r.outcome, r.file_id, r.line_no, r.text
from rank_request as r
union all
select
    null as failure_id, null as job_id, null as attempt, s.cluster, 'node' as from_kind,
    null as rank, s.node_id as from_node_id, s.peer_node_id as node_id, null as address,
    null as bucket, null as object, s.wid, g.xid, s.event_at as from_at, s.last_at as to_at,
    s.step as outcome, s.file_id, s.line_no, s.text
from get_batch_chain_step as s
join get_batch_chain as g on g.chain_id = s.chain_id
where s.peer_node_id <> s.node_id
