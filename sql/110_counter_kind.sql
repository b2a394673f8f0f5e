-- What a counter of AIStore's statistics lines means, and whether its growth can be taken.
-- grain: one row a counter
-- reads: nothing
-- stored: yes
-- note: Kinds follow the suffix (AIStore 3.18 to 5.0): cumulative ones may be subtracted, the others hold the last 10 s or a state.
create or replace view counter_kind as
select
    counter,
    kind,
    unit,
    is_error,
    meaning
from (
    values
        ('get.n', 'cumulative', 'requests', false, 'GET requests'),
        ('put.n', 'cumulative', 'requests', false, 'PUT requests'),
        ('head.n', 'cumulative', 'requests', false, 'HEAD requests'),
        ('lst.n', 'cumulative', 'requests', false, 'list-objects requests'),
        ('get.size', 'cumulative', 'bytes', false, 'bytes read by GET'),
        ('put.size', 'cumulative', 'bytes', false, 'bytes written by PUT'),
        ('get.ns.total', 'cumulative', 'ns', false, 'time spent in GET'),
        ('put.ns.total', 'cumulative', 'ns', false, 'time spent in PUT'),
        ('err.get.n', 'cumulative', 'errors', true, 'failed GET requests; a 404 that another node caused is not counted here'),
        ('err.put.n', 'cumulative', 'errors', true, 'failed PUT requests; a PUT rejected with 507 is not counted'),
        ('err.head.n', 'cumulative', 'errors', true, 'failed HEAD requests'),
        ('err.kalive.n', 'cumulative', 'errors', true, 'keep-alive attempts that failed: a peer did not answer'),
        ('err.http.write.n', 'cumulative', 'errors', true, 'responses that could not be written: the client was gone'),
        ('err.io.get.n', 'cumulative', 'errors', true, 'disk errors while reading'),
        ('err.io.put.n', 'cumulative', 'errors', true, 'disk errors while writing'),
        ('err.fshc.n', 'cumulative', 'errors', true, 'runs of the file system health checker'),
        ('err.lcache.n', 'cumulative', 'errors', true, 'errors of the object metadata cache'),
        ('getbatch.n', 'cumulative', 'requests', false, 'x-get-batch requests ended, failed ones included, counted at the designated target'),
        ('getbatch.obj.n', 'cumulative', 'objects', false, 'whole objects delivered in batches'),
        ('getbatch.file.n', 'cumulative', 'files', false, 'archived files delivered in batches'),
        ('getbatch.obj.size', 'cumulative', 'bytes', false, 'bytes of whole objects in batches'),
        ('getbatch.file.size', 'cumulative', 'bytes', false, 'bytes of archived files in batches'),
        ('getbatch.gfn.n', 'cumulative', 'entries', false, 'entries fetched from a neighbour after their sender did not deliver: the only trace of a silent stall'),
        ('getbatch.rxwait.ns', 'cumulative', 'ns', false, 'time a designated target waited for entries of other targets'),
        ('getbatch.throttle.ns', 'cumulative', 'ns', false, 'time requests were held back because of load'),
        ('err.getbatch.n', 'cumulative', 'errors', true, 'batches that ended with a hard error, 429 and client disconnects included'),
        ('err.soft.getbatch.n', 'cumulative', 'errors', true, 'entries missing in batches that went on'),
        ('err.gfn.getbatch.n', 'cumulative', 'errors', true, 'get-from-neighbour attempts that failed'),
        ('stream.in.n', 'cumulative', 'objects', false, 'objects received from other targets'),
        ('stream.out.n', 'cumulative', 'objects', false, 'objects sent to other targets'),
        ('stream.in.size', 'cumulative', 'bytes', false, 'bytes received from other targets'),
        ('stream.out.size', 'cumulative', 'bytes', false, 'bytes sent to other targets'),
        ('lcache.evicted.n', 'cumulative', 'entries', false, 'metadata evicted from memory'),
        ('ratelim.retry.get.n', 'cumulative', 'retries', true, 'reads held back by a rate limit'),
        ('get.ns', 'interval', 'ns', false, 'mean GET latency over the last 10 s before the line'),
        ('put.ns', 'interval', 'ns', false, 'mean PUT latency over the last 10 s before the line'),
        ('get.redir.ns', 'interval', 'ns', false, 'mean time from proxy redirect to target over the last 10 s'),
        ('put.redir.ns', 'interval', 'ns', false, 'mean time from proxy redirect to target over the last 10 s'),
        ('kalive.ns', 'interval', 'ns', false, 'mean keep-alive latency over the last 10 s'),
        ('get.bps', 'interval', 'bytes/s', false, 'GET throughput over the last 10 s'),
        ('put.bps', 'interval', 'bytes/s', false, 'PUT throughput over the last 10 s'),
        ('state.flags', 'gauge', 'bits', false, 'node state bits, see state_flag')
) as t(counter, kind, unit, is_error, meaning)
