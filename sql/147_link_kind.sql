-- A way a rank's trouble is tied to a node of AIStore, in words, the strongest first.
-- grain: one row a kind of tie
-- reads: nothing
create or replace view link_kind as
select
    link_kind,
    words,
    position
from (
    values
        ('chain_wid', 'the same request (wid) on both sides', 1),
        ('chain_endpoint', 'the address the client names belongs to a node of the chain', 2),
        ('chain_object', 'the same object on both sides', 3),
        ('chain_xid', 'the same xaction (xid) on both sides', 4),
        ('request_node', 'the request that its stack shows in flight goes to the node that was in trouble', 5),
        ('chain_time', 'a broken batch at the same moment', 6),
        ('stale_membership', 'the node was not found by its peers while the rank waited', 7),
        ('unanswered', 'the rank''s requests were sent to this node, and none was answered', 8),
        ('fault_time', 'the node was in trouble when the rank stopped', 9)
) as t(link_kind, words, position)
