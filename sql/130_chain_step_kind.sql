-- A kind of step of an x-get-batch failure chain, in the order in which steps cause each other.
-- grain: one row a kind
-- reads: nothing
create or replace view chain_step_kind as
select
    step,
    position,
    meaning
from (
    values
        ('resource_pressure', 1, 'memory, disk or space ran short on a node'),
        ('node_loss', 2, 'a node went away, was cut off or stopped answering'),
        ('stream_break', 3, 'the stream between two targets broke'),
        ('reconnect', 4, 'a target tries to reach its peer again'),
        ('destination_missing', 5, 'a sender has no stream to the designated target: it still uses an old cluster map'),
        ('sender_late', 6, 'a sender did not start in time'),
        ('missing_entry', 7, 'an entry of the batch did not arrive'),
        ('entry_timeout', 8, 'the designated target waited for an entry until its limit'),
        ('out_of_bounds', 9, 'an entry came for a batch that was already cleaned up'),
        ('soft_errors', 10, 'more entries were missing than the batch may miss'),
        ('rejected', 11, 'the designated target refused the request (429 or not ready)'),
        ('short_batch', 12, 'the answer ended early: fewer entries than asked for, without an error'),
        ('aborted', 13, 'the work item ended with an error'),
        ('abort_broadcast', 14, 'the designated target told the others to stop'),
        ('abort_notice', 15, 'a node was told, or could not be told, that the work item ended'),
        ('dropped_receive', 16, 'data for an ended work item was dropped'),
        ('stale_wid', 17, 'data came for a work item nobody knows any more'),
        ('client_error', 18, 'the proxy answered the client with an error'),
        ('client_gone', 19, 'the client was gone before its answer was written'),
        ('cleanup', 20, 'the summary of errors when the xaction ended'),
        ('client_retry', 21, 'the client asked again'),
        ('client_failure', 22, 'the client gave up: exception, time-out or end of the iterator')
) as t(step, position, meaning)
