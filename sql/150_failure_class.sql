-- A class of failures: what it says, and what it says of storage.
-- grain: one row a class
-- reads: nothing
-- stored: yes
create or replace view failure_class as
select
    failure_class,
    says,
    look_at
from (
    values
        ('storage_io', 'Storage failed the rank: an error, a lost or short answer, a node down or cut off. The storage verdict is guilty, or undetermined where only the client''s lines are at hand.', 'the chain, the node named, its log around the first error'),
        ('data_loading_stall', 'The rank was stuck fetching or preparing data. What held it (a slow or silent storage, its own worker, decoding) is told by the storage verdict.', 'what the rank was doing, AIStore''s faults at that moment'),
        ('data', 'The data itself is wrong: a missing object asked for by a wrong name, a corrupt or odd sample, a manifest or schema that does not fit, an iterator that ends with no short batch before it. Storage answered truthfully.', 'the object or sample named in the error'),
        ('network', 'The path between nodes, or to the storage, failed.', 'switches, routes, and whether several nodes lost each other at once'),
        ('gpu', 'A device error: Xid, ECC, out of device memory.', 'nvidia-smi -q, dmesg of the host'),
        ('gpu_fabric', 'All ranks entered the collective and nobody finished it.', 'nccl-tests on the same nodes, NVLink and InfiniBand counters'),
        ('collective_mismatch', 'Ranks called different collectives, sizes, types or orders, or one skipped a call.', 'the code path that only some ranks take'),
        ('rank_hang', 'One rank was stuck outside collectives, and not in data loading.', 'its stack: py-spy dump --pid'),
        ('software', 'An exception, a deadlock, a wrong configuration or version.', 'the first traceback'),
        ('infrastructure', 'A node or process was taken away: scheduler, host memory, reboot, kill.', 'sacct, dmesg, the events of the pod'),
        ('undetermined', 'The logs at hand cannot tell.', 'the blind spots of the report: each ends in the command that would fetch what is missing')
) as t(failure_class, says, look_at)
