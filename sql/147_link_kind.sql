-- A way a rank's trouble is tied to a node of AIStore, in words, the strongest first.
-- grain: one row a kind of tie
-- reads: nothing
-- stored: yes
-- note: is_proof: the tie is a name that stands on both sides, so it holds however few of the AIStore logs are at hand; the others are ties by time.
create or replace view link_kind as
select
    link_kind,
    words,
    position,
    is_proof
from (
    values
        ('chain_wid', 'the same request (wid) on both sides', 1, true),
        ('chain_endpoint', 'the address the client names belongs to a node of the chain', 2, true),
        ('chain_object', 'the same object on both sides', 3, true),
        ('chain_xid', 'the same xaction (xid) on both sides', 4, true),
        ('request_node', 'the request that its stack shows in flight goes to the node that was in trouble', 5, true),
        ('error_node', 'the error of the rank names the node that was in trouble', 6, true),
        ('chain_count', 'a batch that came as short as AIStore says, at the same moment', 7, true),
        ('chain_time', 'a broken batch at the same moment', 8, false),
        ('stale_membership', 'the node was not found by its peers while the rank waited', 9, false),
        ('unanswered', 'the rank''s requests were sent to this node, and none was answered', 10, true),
        ('unreached', 'this is the address to which the rank could not connect, announced by a node that has begun since the job did', 10, true),
        ('error_line', 'an error that no rule knows names what the error of the rank names', 11, true),
        ('rank_object', 'an error of the node names an object that bears the number of the rank, at the moment of the rank''s own error', 12, false),
        ('backoff', 'the node refused requests at the pace of one client''s silent repeats, from when the rank stopped', 13, false),
        ('held_batch', 'a batch of the job''s bucket began there before the rank stopped, and was not done when the others gave up', 14, true),
        ('fault_time', 'the node was in trouble when the rank stopped', 15, false)
) as t(link_kind, words, position, is_proof)
