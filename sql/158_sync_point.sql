-- A place where all ranks of a training program wait for each other, and the collective by which it is known.
-- grain: one row a synchronisation point; of several that fit a collective the one with the lowest place is named
-- reads: nothing
-- stored: yes
-- note: A hint: other code may use the same operation and size. numel is the number of elements sent; framework null = any.
create or replace view sync_point as
select
    sync_point,
    place,
    framework,
    operation,
    numel_from,
    numel_to,
    words,
    meaning
from (
    values
        ('preemption_flag', 1, 'NeMo', 'BROADCAST', 1, 1, 'the flag that NeMo''s PreemptionCallback broadcasts at the end of every batch, or a checkpoint decision', 'Rank 0 sends and goes on; a rank that is late in its batch is noticed here first.'),
        ('small_broadcast', 2, null, 'BROADCAST', 1, 64, 'a flag or a size that one rank sends to all: a checkpoint path or decision, a stop signal, the length of an object', 'The sender does not wait: it may be ahead. Lightning sends the length of an object first, then its bytes.'),
        ('object_broadcast', 3, null, 'BROADCAST', 65, 9999, 'an object that one rank sends to all: a checkpoint path, a configuration, a list of files', 'The sender was late, or a rank never came: look at what rank 0 did before.'),
        ('buffer_broadcast', 4, null, 'BROADCAST', 10000, null, 'buffers or parameters: DDP with broadcast_buffers before every forward (BatchNorm), or the first copy of the model', 'One each forward where the model has buffers; broadcast_buffers=False leaves it out.'),
        ('barrier_or_metric', 5, null, 'ALLREDUCE', 1, 16, 'a barrier, a loss or a metric', 'At the end of an epoch: different numbers of batches, a slow validation or checkpoint.'),
        ('gradient_bucket', 6, null, 'ALLREDUCE', 17, null, 'a bucket of gradients of DDP, or of tensor parallelism', 'Several each step. A rank that is missing had not finished its forward, or waits for data.'),
        ('parameter_gather', 7, null, 'ALLGATHERBASE', null, null, 'parameters that FSDP or ZeRO-3 gathers before a layer, or a metric', 'Many each step. With experts or branches a rank may gather another layer.'),
        ('gradient_scatter', 8, null, 'REDUCESCATTERBASE', null, null, 'gradients of FSDP or ZeRO', 'Many each step, in backward.'),
        ('object_gather', 9, null, 'ALLGATHER', null, null, 'tensors or objects gathered from all ranks: metrics, checkpoint plans', 'At validation and checkpoints; sizes may differ rightly.'),
        ('expert_exchange', 10, null, 'ALLTOALLBASE', null, null, 'tokens sent to experts', 'Several each layer with experts; sizes may differ rightly.')
) as t(sync_point, place, framework, operation, numel_from, numel_to, words, meaning)
