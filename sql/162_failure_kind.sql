-- A finer word within a failure class that is neither a fault of a node, a pattern nor an activity: what it says, and what would tell more.
-- grain: one row a kind
-- reads: nothing
create or replace view failure_kind as
select
    failure_kind,
    says,
    look_at
from (
    values
        ('chain', 'A chain of AIStore lines broke the rank''s batch; no fault of a node is known behind it.', 'the steps of the chain'),
        ('foreign_service', 'The error names a service outside of the cluster''s networks.', 'that service'),
        ('file_system', 'A mounted file system failed the rank. It is not AIStore.', 'the file server and the mount of the host'),
        ('node_gone', 'The client could not reach its AIStore node, and the node is known to have been gone.', 'why the node was gone'),
        ('target_unanswered', 'Requests to one target stayed without an answer, though its own log says nothing.', 'the target''s host at that time'),
        ('server_said', 'The client''s error is what AIStore itself answered; its own logs are not at hand, or do not show it.', 'the logs of the node that the error names'),
        ('answers_cut', 'Answers of AIStore ended in the middle, again and again, without a reset or a time-out.', 'the backend of the bucket: a cold read is handed on while it is read; a proxy or load balancer in front of the targets'),
        ('batch_left_open', 'No answer of storage came in time, and a target was still at a batch when its client gave up.', 'the target''s peers: which of them sent late'),
        ('no_answer', 'A request was taken and not answered in time, and AIStore''s logs of that time show no fault.', 'the client''s address in the targets'' logs at a higher verbosity, the network between them, the goroutines of the target'),
        ('storage_logs_quiet', 'The client reports storage trouble, and AIStore''s logs of that time show none.', 'the path between the client and AIStore'),
        ('storage_logs_end_early', 'The client reports storage trouble; AIStore''s logs end too early to tell.', 'newer logs of AIStore'),
        ('storage_logs_show_nothing', 'The client reports storage trouble; AIStore''s logs show nothing that fits it.', 'nodes whose logs are missing'),
        ('storage_logs_unwatched', 'The client reports storage trouble; AIStore''s logs show none, but no proxy''s is among them.', 'the log of the primary proxy: it alone tells of a target that stands still'),
        ('storage_logs_partial', 'The client reports storage trouble; the logs of a few nodes, or of a cluster that may be another one, are at hand, and tie nothing to it.', 'the blind spots: the logs of the other nodes'),
        ('client_side_only', 'Only the client''s lines tell of storage trouble: no AIStore log covers the moment.', 'the AIStore logs of that time'),
        ('cancelled', 'The scheduler ended the job while it went on, without a reason; nothing had failed before.', 'who cancelled it: sacct -j JOB -o State,ExitCode (CANCELLED by UID)'),
        ('entries_missing', 'A batch asked for more entries that are not in its bucket than it may miss (max_soft_errs).', 'the manifest beside ais ls BUCKET; err.soft.getbatch.n of the target'),
        ('evicted', 'Objects are gone from a target that had evicted objects (LRU) of a bucket without a backend.', 'ais bucket props show BUCKET lru; the capacity of the target'),
        ('disk_lost', 'Objects are gone from a target that had lost a disk or came back without it.', 'findmnt, lsblk and dmesg on its host; ais storage mountpath'),
        ('deleted', 'Objects are gone that a job of AIStore deleted while the training ran.', 'who asked for it: the proxies'' logs at that second'),
        ('deleted_behind', 'Objects are gone that AIStore deleted because they were gone from the bucket behind.', 'who tidies up there; ais bucket props show BUCKET versioning'),
        ('disk_detached', 'Objects are gone from a target of which a disk had been detached.', 'who detached it; ais storage mountpath show'),
        ('joined_empty', 'Objects are gone from a target that had joined and was still without them.', 'whether a rebalance has run since: ais show rebalance'),
        ('misplaced_removed', 'Objects are gone since a cleanup took them for misplaced, after a rebalance that was broken off.', 'copies elsewhere; ais show rebalance'),
        ('copy_aborted', 'Objects are missing in a bucket that a copy had filled in part.', 'the error that the copy ended with'),
        ('registered_twice', 'Two daemons took turns under the id of one target, each with objects of its own.', 'which host should have that id'),
        ('tokens_demanded', 'AIStore began to demand tokens while the job ran.', 'who changed the authentication, and when'),
        ('killed_by_signal', 'A signal ended the process.', 'dmesg, the scheduler, the events of the pod'),
        ('host_lost', 'Peers lost the connection to all ranks of one host.', 'the host: power, network, reboot'),
        ('all_ranks_pending', 'Every rank had entered the collective, and none finished it.', 'NVLink, InfiniBand and their counters; nccl-tests on the same nodes'),
        ('split', 'Ranks made different calls in one process group, and no side is the larger one.', 'the calls of all ranks side by side: aiscorr query @collectives'),
        ('circle', 'Ranks wait for each other in a circle of process groups.', 'the order in which the code enters the groups'),
        ('stated', 'PyTorch itself says that the calls of ranks do not match.', 'the line that says so'),
        ('rank', 'One rank had become slow before the failure, while the others were still fast.', 'aiscorr query @steps, and the host of the rank'),
        ('job', 'All ranks had become slow before the failure.', 'aiscorr query @steps'),
        ('silent', 'One rank had not entered the collective, and nothing tells what it did.', 'its stack: py-spy dump --pid'),
        ('world_size', 'The job went on with another number of ranks than its checkpoint or data expects.', 'how the job was launched'),
        ('data_wait', 'Steps had become slow before the failure, and most of that was waiting for data.', 'aiscorr query @steps'),
        ('error_not_at_hand', 'A rank ended first, and its error is in no log at hand.', 'the whole log of that rank'),
        ('silent_rank', 'One rank kept the others waiting, and nothing tells why.', 'its stack, next time'),
        ('rank_dump_missing', 'The Flight Recorder dumps at hand leave open which rank was missing.', 'the dumps of the other ranks'),
        ('rank_log_missing', 'Ranks without any line at hand may be those that never entered the collective.', 'the logs of the other nodes'),
        ('no_cause_in_logs', 'The logs show the failure and nothing that explains it.', 'the blind spots of the report')
) as t(failure_kind, says, look_at)
