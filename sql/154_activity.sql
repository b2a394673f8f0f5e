-- Something a rank can be doing when its peers wait for it, and what to look at.
-- grain: one row an activity
-- reads: nothing
-- stored: yes
-- note: rank_state.activity knows the first nine; the others are its finer words (activity_detail).
create or replace view activity as
select
    activity,
    meaning,
    advice
from (
    values
        ('storage_wait', 'waiting for an answer of the storage', 'Give reads a time-out below that of the collective.'),
        ('decoding', 'decoding or transforming samples: audio, images, archives', 'Look at the sample it was decoding, and at the CPU of its host.'),
        ('batch_preparation', 'building a batch: collate, tokenise, bucket', 'Look at the sampler and the collate function: one rank with far longer samples keeps all others waiting.'),
        ('worker_wait', 'waiting for a DataLoader worker', 'Look at the worker processes (py-spy dump on them), not at the rank: give the DataLoader a timeout.'),
        ('data_loading', 'loading data, not known finer', 'Take stacks of the rank and of its DataLoader workers when it hangs.'),
        ('file_read', 'reading a file of a mounted file system, not AIStore', 'Look at that file system on the host of the rank: mount, quota, server.'),
        ('checkpoint', 'saving or loading a checkpoint', 'Look at what the checkpoint code waits for: a lock, a slow file system, another rank. Save asynchronously, or give the barrier behind it a longer time-out.'),
        ('collective', 'inside a collective', 'Compare which collective each rank is in.'),
        ('backward', 'in the backward pass', 'Collectives of DDP run inside it: compare what each rank had enqueued (Flight Recorder), and look at the device of that rank.'),
        ('hub_wait', 'waiting for the Hugging Face hub, not for AIStore', 'Download models and data sets before the job starts (HF_HUB_OFFLINE=1).'),
        ('another_service', 'waiting for another service, not AIStore', 'Look at that service, and give requests to it a time-out below that of the collective.'),
        ('compute', 'computing on the device', 'Look at the device of that rank: Xid in dmesg, clocks and ECC in nvidia-smi -q, py-spy dump --native.'),
        ('unknown', 'nothing tells', 'Take a stack when it hangs: py-spy dump --pid.'),
        ('step', 'in its training steps', 'Take a stack when it hangs: py-spy dump --pid.'),
        ('epoch_end', 'at the end of an epoch', 'See what only this rank does at the end of an epoch.'),
        ('evaluation', 'evaluating', 'If only one rank evaluates, the barrier behind it needs a time-out longer than the evaluation.'),
        ('initialisation', 'starting up', 'See what the start of that rank waited for.'),
        ('compile', 'compiling a graph or kernel', 'Warm the compile cache before the first collective, or lengthen its time-out.'),
        ('lock', 'waiting for a lock', 'Find who holds the lock: a file lock on a shared folder, a thread that died with it, or one that held it when a DataLoader worker was forked (multiprocessing_context=''spawn'' or ''forkserver'' copies no locks).'),
        ('debugger', 'waiting for a debugger', 'Take the breakpoint out of the job, or attach to it; see what made it stop there.'),
        ('sleep', 'sleeping', 'Find the sleep or the back-off in the code of that rank.'),
        ('file_write', 'writing a file of a mounted file system, not AIStore', 'Look at that file system on the host of the rank: mount, quota, server; write from one rank in the background.'),
        ('log_upload', 'making or uploading logs, pictures or metrics', 'Make and upload them in the background, with a time-out.'),
        ('skipping', 'skipping a batch that the others go through', 'A rank that skips a batch by itself leaves its collectives out: agree on it first (all_reduce of a flag), or zero the loss instead.'),
        ('finish', 'ending', 'See whether this rank had fewer batches than the others (uneven inputs).')
) as t(activity, meaning, advice)
