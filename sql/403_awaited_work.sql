-- Work of AIStore's targets for which a rank had to wait, though nothing was broken: cold entries of a batch, a list, reads of what had been evicted.
-- grain: one row a failure; of several kinds the first of these
-- note: storage_advice, client_advice: what the one and the other side can do; client_advice is null where it can do nothing.
-- reads: cold_batch, long_list, evicted_reads
-- stored: yes
-- empty without: cold_batch, long_list, evicted_reads
create or replace view awaited_work as
select failure_id, words, why, storage_advice, client_advice, file_id, line_no
from (
    select failure_id, 1 as place, 'its batch waited for cold reads, which took ' || mean_s::varchar || ' s on average (' || read_count::varchar || ' at ' || target_count::varchar || ' targets)' as words, 'the statistics of the target that waited longest for its backend' as why,
        'The first read of an object waits until all of it is in the cluster: prefetch the data set before jobs start (ais prefetch), or give the way to the provider more width.' as storage_advice, null as client_advice, file_id, line_no
    from cold_batch
    union all
    select failure_id, 2, 'all the while ' || target_count::varchar || ' of its targets walked their disks for a list, at the limit of these', 'a target that walked its disks for the list',
        'A list walks the names of a bucket on all disks: see how many objects it has (ais bucket summary), pack small files into shards (ais archive, dsort), or keep a bucket inventory.', 'List once and keep a manifest, or list below a prefix, instead of walking the whole bucket at each start or epoch; let one rank do so before the others wait for it.', file_id, line_no
    from long_list
    union all
    select failure_id, 3, target_count::varchar || ' of ' || served_count::varchar || ' targets evicted objects (LRU) and had to read nearly all that they served from the remote backend, ' || mean_s::varchar || ' s on average (' || read_count::varchar || ' reads)', 'the statistics of the target that evicted most',
        'What jobs read in an epoch does not fit below the watermarks: add disks, raise the high watermark (ais config cluster space), or evict buckets that nobody reads; until then each epoch is read from the provider.', null, file_id, line_no
    from evicted_reads
)
qualify row_number() over (partition by failure_id order by place) = 1
