-- An environment variable that makes the next run of a training job say more, and the PyTorch releases it is valid for.
-- grain: one row a variable
-- reads: nothing
-- stored: yes
-- note: From the strings of the PyTorch wheels 1.13 to 2.15. release_no is major × 100 + minor; the trace buffer is off by default up to 2.10, the dump on time-out up to 2.6.
create or replace view capture_setting as
select
    variable,
    value,
    since_release_no,
    until_release_no,
    purpose
from (
    values
        ('TORCH_NCCL_TRACE_BUFFER_SIZE', '20000', 202, 207, 'Flight Recorder: what each rank had enqueued, with the stack of each call'),
        ('TORCH_FR_BUFFER_SIZE', '20000', 208, 999, 'Flight Recorder: what each rank had enqueued, with the stack of each call'),
        ('TORCH_NCCL_DUMP_ON_TIMEOUT', '1', 202, 999, 'a Flight Recorder dump of each rank when a collective times out'),
        ('TORCH_NCCL_DEBUG_INFO_TEMP_FILE', '/shared/fr/$SLURM_JOB_ID-rank', 202, 207, 'where the dumps go: to a shared folder, not to a node that is cleaned up'),
        ('TORCH_FR_DUMP_TEMP_FILE', '/shared/fr/$SLURM_JOB_ID-rank', 208, 999, 'where the dumps go: to a shared folder, not to a node that is cleaned up'),
        ('NCCL_DESYNC_DEBUG', '1', 0, 201, 'a report of the lagging ranks at a time-out'),
        ('TORCH_NCCL_DESYNC_DEBUG', '1', 202, 999, 'a report of the lagging ranks at a time-out'),
        ('TORCH_DISTRIBUTED_DEBUG', 'DETAIL', 0, 999, 'a check of operation, size and type before each collective (slow)'),
        ('NCCL_DEBUG', 'INFO', 0, 999, 'what NCCL says of its devices and network'),
        ('NCCL_DEBUG_SUBSYS', 'INIT,NET', 0, 999, 'the subsystems of NCCL_DEBUG that matter here')
) as t(variable, value, since_release_no, until_release_no, purpose)
