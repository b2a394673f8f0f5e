-- A trouble of launching or memory that handbooks name: whether logs show it, by which patterns, what would show it, and the fix.
-- grain: one row a trouble
-- reads: nothing
-- note: in_logs says what the patterns are or why there are none. The class is what a failure of that kind is given.
create or replace view trouble as
select
    trouble,
    failure_class,
    in_logs,
    would_show,
    fix
from (
    values
        ('rendezvous_incomplete', 'infrastructure', 'patterns rendezvous_timeout, tcpstore_clients_missing, tcpstore_connect_timeout, c10d_store_barrier_timeout', 'the node or rank that wrote no line; whether it reaches MASTER_ADDR:MASTER_PORT', 'Start all nodes with one MASTER_ADDR, MASTER_PORT and --nnodes; open the port between them.'),
        ('port_in_use', 'software', 'patterns tcpstore_port_in_use, python_port_in_use', 'ss -ltnp on the first node: an earlier run that still holds the port', 'End the stale run or take a free port (--rdzv-endpoint host:0, a port made of the job id).'),
        ('missing_variable', 'software', 'pattern env_variable_missing (RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT)', 'env | grep -E "RANK|WORLD|MASTER" in the task', 'Start with torchrun, or export the variables from SLURM_PROCID, SLURM_LOCALID and SLURM_NTASKS.'),
        ('wrong_device', 'software', 'patterns cuda_invalid_device, nccl_duplicate_gpu, nccl_device_guessed, torch_device_mismatch, collective_device_wrong', 'nvidia-smi: two processes on one GPU, or one process with a context on several', 'Call torch.cuda.set_device(LOCAL_RANK) first, and pass device_id to init_process_group.'),
        ('uneven_inputs', 'data', 'patterns dataset_exhausted_on_rank, ddp_uneven_inputs where Join is used. Without Join no text: the ranks with more batches wait, the one with fewer writes the end of its epoch or nothing', 'the number of batches of each rank printed at the start of an epoch; a stack of the rank that is ahead', 'Equal batches on all ranks: drop_last, an endless sampler, Join.'),
        ('unused_parameters', 'software', 'patterns ddp_reduction_unfinished, ddp_unused_parameters, ddp_variable_ready_twice. With static_graph or FSDP no text: a hang or wrong gradients', 'TORCH_DISTRIBUTED_DEBUG=DETAIL names the parameters', 'find_unused_parameters=True, or every output of forward in the loss on every rank.'),
        ('rank_conditional_collective', 'collective_mismatch', 'patterns c10d_detail_mismatch, nccl_collective_mismatch, gloo_size_mismatch; else time-outs whose operation or size differ at one sequence number', 'Flight Recorder dumps of all ranks, TORCH_DISTRIBUTED_DEBUG=DETAIL', 'Take collectives out of `if rank == 0`; call them on all ranks in one order.'),
        ('checkpoint_on_one_rank', 'rank_hang', 'the last words of that rank (activity checkpoint) and time-outs of all others; no error', 'a stack of the rank: torch.save, or a collective inside state_dict that only it called', 'state_dict of FSDP and ZeRO-3 is a collective: call it on all ranks; asynchronous or sharded saving; a longer time-out for the group of the barrier.'),
        ('gpu_out_of_memory', 'gpu', 'pattern cuda_out_of_memory. NCCL allocates beside the caching allocator: then it is nccl_cuda_call_failed', 'torch.cuda.memory_summary, memory snapshots', 'A smaller batch, activation checkpointing, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.'),
        ('host_out_of_memory', 'infrastructure', 'patterns kernel_oom_kill, slurm_oom_kill, process_killed, k8s_oom_killed, systemd_oom_kill, host_memory_guard, ray_out_of_memory, host_memory_exhausted; the killed process itself prints nothing', 'dmesg of the host, memory.events of the cgroup, sacct -o MaxRSS', 'More memory, fewer DataLoader workers, a smaller prefetch_factor, no whole data set in each worker.'),
        ('shared_memory', 'infrastructure', 'patterns dataloader_shared_memory, process_bus_error, nccl_shm_failed', 'df /dev/shm inside the container', 'docker --shm-size or --ipc=host, an emptyDir of medium Memory, fewer workers.'),
        ('group_on_some_ranks', 'software', 'patterns process_group_not_member, tcpstore_wait_timeout, nccl_unique_id_missing. new_group called by some ranks only: the others go on and write nothing of it', 'Flight Recorder dumps: the groups each rank knows; a stack of the ranks that wait in new_group', 'new_group on all ranks of the job, with the same lists in the same order.'),
        ('group_split_between_nodes', 'software', 'pattern nccl_unique_id_missing, or two jobs of half the size that each work: compare the world size each node prints', 'rank, world size and MASTER_ADDR printed by every rank', 'One MASTER_ADDR for all nodes; check that srun starts one torchrun a node with --nnodes.'),
        ('state_dict_in_host_memory', 'infrastructure', 'no text of its own: rank 0 is killed (see host_out_of_memory) while its last words are of a checkpoint', 'host memory of rank 0 against the size of the model times 4 to 16 bytes', 'Sharded checkpoints (torch.distributed.checkpoint, SHARDED_STATE_DICT); offload_to_cpu with rank0_only.'),
        ('checkpoint_keys', 'software', 'patterns checkpoint_keys_mismatch, checkpoint_ranks_failed, checkpoint_world_size_changed', 'the keys of both sides: prefixes module., _fsdp_wrapped_module., _orig_mod., model.', 'Save and load with the same wrapper; strip the prefixes; for DeepSpeed zero_to_fp32.py or a universal checkpoint.'),
        ('clipping_before_unscale', 'software', 'no text: gradients are clipped by their scaled norm, the loss stalls or overflows later (loss_scale_overflow, training_not_finite). Only a wrong order of calls has one: grad_scaler_misuse', 'the gradient norm that is logged, about the loss scale times too large', 'scaler.unscale_(optimizer) before clip_grad_norm_.'),
        ('world_size_changed', 'software', 'patterns checkpoint_world_size_changed, checkpoint_keys_mismatch', 'the world size each attempt prints', 'A fixed --nnodes, or checkpoints that can be resharded and a sampler that is told the new size.')
) as t(trouble, failure_class, in_logs, would_show, fix)
