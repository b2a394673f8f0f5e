-- Ranks that could not connect to one address, that of a target of AIStore or of a request for an object, while other ranks of their host complained of nothing.
-- grain: one row a failure
-- reads: unreached_request, node
-- case: yes
-- note: A host that has lost its way loses it for all its ranks, and seldom to one node only: what stands at that address may be the reason as well. Where no log says whose address it is, the path of the request tells that it is AIStore's. Where ranks of two hosts fail at it, or its node has just begun, unanswered_node says more.
create or replace view lone_address as
select
    r.failure_id,
    any_value(r.endpoint) as endpoint,
    count(distinct r.rank) as rank_count,
    arg_min(r.file_id, (r.from_ns, r.file_id, r.line_no)) as file_id,
    arg_min(r.line_no, (r.from_ns, r.file_id, r.line_no)) as line_no
from unreached_request as r
left join node as n on n.cluster = r.cluster and n.node_id = r.node_id
group by r.failure_id
having count(distinct r.endpoint) = 1 and bool_and(coalesce(n.role = 'target', r.node_id is null and contains(r.url, '/v1/objects/'), false)) and count(distinct r.place) = 1 and count(*) = count(r.place) and count(distinct r.rank) < min(r.place_count)
