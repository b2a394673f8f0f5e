-- A rule that manuals and posts give for reading such logs, why it is wrong or when it holds, and what to do instead.
-- grain: one row a rule
-- reads: nothing
-- note: From the sources and wheels of PyTorch 1.13 to 2.15 and posted logs.
create or replace view manual_rule as
select
    rule,
    says,
    but,
    instead
from (
    values
        ('hang_start_by_timeout', 'The hang began at the time of the watchdog''s line minus Timeout(ms).', 'The watchdog may speak hours late (a line said `ran for 25625613` with Timeout(ms)=1800000), and ranks speak at different times.', 'Line time minus `ran for N milliseconds`; without a stamp (before PyTorch 2.4) the neighbours'' stamps bound it.'),
        ('only_active_collectives_0', '`only active collectives: 0` says that no collective was active.', 'From PyTorch 2.10 on every rank prints it: it is the value of a setting (dump only active entries or all), not a count.', 'Count the entries of the dump that are not completed.'),
        ('recorder_on_by_default', 'Flight Recorder is on by default.', 'Its buffer is 0, off, up to PyTorch 2.10, and 2000 entries from 2.11 on; the dump on time-out is off up to 2.6.', 'TORCH_FR_BUFFER_SIZE (from 2.8) or TORCH_NCCL_TRACE_BUFFER_SIZE, and TORCH_NCCL_DUMP_ON_TIMEOUT=1.'),
        ('recorder_file_name', 'Dumps are /tmp/nccl_trace_rank_N.', 'Prefix, folder and variable changed twice between 2.2 and 2.10, and a site may set its own.', 'Look at the line that says where the dump was written; any name is read here.'),
        ('root_cause_of_torchrun', 'torchrun''s `Root Cause (first observed failure)` is the culprit.', 'It is the first process that exited. In a hang that is a victim whose watchdog was first; the rank that hung is ended by SIGTERM later.', 'Believe it for exceptions and kills when no collective timed out.'),
        ('observed_is_straggler', 'A rank that only observed the dump signal is the straggler.', 'It may have pending work itself (460631 enqueued, 460630 completed) and be one of those that wait.', 'Its last enqueued number must be below the failing one, in the same process group.'),
        ('counters_of_dump_signal', 'The counters in `Received a dump signal` are those of the failing group.', 'They are those of process group 0, whatever group failed.', 'Compare counters only between lines with the same PG GUID.'),
        ('rank_in_brackets', '`[Rank 4] Watchdog caught` is the global rank.', 'Up to 2.13 it is the rank inside the group that logged first in this process, kept for ever.', 'The `[rankN]:` tag in front of the line (from 2.3).'),
        ('lowest_rank_is_right', 'Ranks that differ from rank 0 are wrong.', 'Rank 0 itself may have made the extra call.', 'The majority at one sequence number; an even split stays open.'),
        ('ahead_is_wrong', 'A rank that is ahead of the others is the faulty one.', 'The root of a broadcast is done when its data is sent and may be ahead by what fits before its next wait.', 'Compare the gap with the collectives of one step (view sync_position).'),
        ('connection_reset_is_storage', '`Connection reset by peer` and `Broken pipe` point to the storage or the network.', 'They are words of TCPStore, gloo and NCCL too, and the usual echo of a rank that died.', 'An address, an object or the name of an HTTP library must stand beside them.'),
        ('raise_the_timeout', 'A time-out is cured by a longer time-out.', 'It helps only where a rank is slow for a known reason (a checkpoint, tokenising on rank 0). A rank that never comes is only found later.', 'Find the rank that is missing first.'),
        ('blocking_wait', 'Set NCCL_BLOCKING_WAIT and NCCL_ASYNC_ERROR_HANDLING.', 'From 2.2 on they are called TORCH_NCCL_BLOCKING_WAIT and TORCH_NCCL_ASYNC_ERROR_HANDLING; the second is on by default, and with the first the time-out is an exception of the call itself.', 'Leave both; set the trace buffer and the dump.'),
        ('counters_always_there', 'Every time-out prints last enqueued and last completed work.', 'The PG status line exists from 2.3 to 2.14 with the older back-end; the default back-end of 2.15 has no counters.', 'Flight Recorder dumps and py-spy stacks of all ranks.'),
        ('retries_are_logged', 'A storage that answers 503 shows as retries in the worker''s log.', 'urllib3 prints retries of broken connections only; retries on a status code (503, 429) are silent for up to a minute and a half.', 'A gap in the rank''s own lines, and AIStore''s counters.')
) as t(rule, says, but, instead)
