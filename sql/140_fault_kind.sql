-- A kind of trouble an AIStore node can be in: how much it explains a client that waits or fails, in words, and what to do.
-- grain: one row a kind of fault
-- reads: nothing
-- stored: yes
-- note: weight 1 = the node is gone, 0 = housekeeping. takes_away: objects of the node are not there while it lasts. is_refusing: who asks the node is refused at once.
create or replace view fault_kind as
select
    fault_kind,
    weight,
    takes_away,
    is_refusing,
    is_loud,
    takes_connections,
    broke_words,
    stalled_words,
    advice
from (
    values
        ('killed', 1.0, true, true, false, false, 'was killed', 'was dead', 'Find out who killed the daemon (kubelet, OOM killer, operator): kubectl describe pod, dmesg -T, and the end of its last log.'),
        ('crashed', 1.0, true, true, false, false, 'crashed', 'had crashed', 'Read the fatal or panic line and its stack, and file it with the AIStore version.'),
        ('hung', 1.0, true, false, false, false, 'stopped answering', 'did not answer', 'The daemon lived but did not answer its peers: look for a stopped process, a frozen disk or a cut network at that time.'),
        ('down', 0.95, true, true, false, false, 'was down', 'was down', 'Find out why peers could not reach the daemon: its own log around that time, pod events, the network.'),
        ('stopped', 0.95, true, true, false, false, 'was being restarted', 'was being restarted', 'Put a node into maintenance before restarting it, and not while jobs read; check what sent the signal.'),
        ('isolated', 0.9, true, false, false, false, 'could not reach its peers', 'could not reach its peers', 'It alone complained of its peers, while they wrote on and missed nobody else: look at this node''s own network (interface for data and control, routes, policies, MTU), not at theirs.'),
        ('maintenance', 0.8, true, true, false, false, 'was in maintenance', 'was in maintenance', 'Wait for the rebalance to finish before taking a node away, and tell the users of the cluster.'),
        ('out_of_space', 0.85, false, false, false, true, 'was out of space', 'was out of space', 'Free space or add mountpaths (ais storage summary, ais space-cleanup), then check the capacity watermarks.'),
        ('disk_fault', 0.85, true, false, true, true, 'had lost a disk', 'had lost a disk', 'Replace the disk, see which objects have no copy elsewhere (ais storage mountpath, ais bucket summary), then resilver.'),
        ('rejecting', 0.85, false, false, true, true, 'refused requests', 'refused requests', 'The node refused work under load: look at memory, goroutines and disk utilisation at that time, and at how the load is spread over targets.'),
        ('stale_membership', 0.85, true, false, false, false, 'was restarted and its peers did not find it again', 'could not be reached by its peers after a restart', 'After restarting a target let running x-get-batch xactions end, or stop them (ais job stop get-batch), so that streams open under the new cluster map.'),
        ('memory', 0.7, false, false, false, false, 'was short of memory', 'was short of memory', 'Find what took the memory (ais performance, the gmm and slab lines), and raise the limit or lower the load.'),
        ('disk_stuck', 0.8, false, false, false, true, 'had a disk that hung', 'had a disk that hung', 'Look at dmesg of the host for time-outs and resets of the disk, disable its mountpath, and see that AIStore''s health check (FSHC) is on.'),
        ('batches_aborted', 0.75, false, false, true, true, 'aborted its running batches', 'had aborted its running batches', 'A rebalance aborts every batch that runs: find out which node came, went or was put into maintenance just before, and do that while no job reads.'),
        ('jobs_refused', 0.75, false, false, true, true, 'started no jobs and batches while it rebalanced', 'started no jobs and batches while it rebalanced', 'A node that rebalances or resilvers refuses new batches and copies: find out which node or disk came, went or was put into maintenance just before, and do that while no job reads.'),
        ('job_aborted', 0.75, false, false, true, true, 'broke off a job', 'had broken off a job', 'See what the node says before: disks, nodes or objects that changed, no space, or somebody who stopped it; start the job again.'),
        ('download_failed', 0.75, false, false, true, true, 'could not fetch what others could', 'could not fetch what others could', 'Compare the way out of this host (proxy, firewall, routes, DNS) with that of the others, and start the download again.'),
        ('job_not_begun', 0.75, false, false, true, true, 'could not begin a job that the other targets could', 'could not begin a job that the other targets could', 'Compare what the job needs on this host (mounts, disks, space, network) with the others, and start the job again.'),
        ('restore_failed', 0.75, false, false, true, true, 'could not restore an object from its slices', 'could not restore an object from its slices', 'Bring back the targets and disks that hold slices of the object; put it again if too many are lost.'),
        ('unreached', 0.8, false, false, false, false, 'has begun since the job did and is not reached at the address that it announces', 'has begun since the job did and is not reached at the address that it announces', 'Connect to that address from a host of the job: a node announces what its configuration or its container calls public (host_net, hostname_map, external access of ais-k8s); compare it with those of the other nodes, and whether its port is open.'),
        ('unanswered', 0.8, false, false, false, false, 'did not answer its requests', 'did not answer its requests', 'The daemon took the connections and did not answer, or did not take them: look at its stack (kill -ABRT, or the pprof page), its disks and its open files at that time.'),
        ('files_exhausted', 0.85, false, false, false, false, 'was out of file descriptors', 'was out of file descriptors', 'Raise the limit of open files of the daemon, and find what holds them.'),
        ('corrupt', 0.75, false, false, true, true, 'held a corrupt object', 'held a corrupt object', 'Put the object again, check the disk it was on, and see whether the bucket should have copies or erasure coding.'),
        ('disk_errors', 0.75, false, false, true, true, 'could not read from a disk', 'could not read from a disk', 'Look at dmesg and SMART data of the host, disable the mountpath, repair or replace the disk.'),
        ('backend', 0.75, false, false, false, true, 'could not get data from its remote backend', 'waited for its remote backend', 'Look at the provider''s status and limits and at the credentials; prefetch the data set before jobs start.'),
        ('backend_slow', 0.87, false, false, false, true, 'kept clients waiting for what it read from its remote backend', 'kept clients waiting for what it read from its remote backend', 'The first read of an object waits until all of it is in the cluster: prefetch the data set before jobs start (ais prefetch), keep shards small, and give the way to the provider more width.'),
        ('batch_stuck', 0.75, false, false, false, true, 'had a batch that got stuck', 'had a batch that got stuck', 'Look at what the batch waited for: a sender that is frozen, or this node itself (its stack: kill -ABRT, or the pprof page); restart the node if requests stay stuck.'),
        ('mover_closed', 0.7, false, false, false, true, 'had closed its data mover while batches ran', 'had closed its data mover while batches ran', 'Entries that came in were thrown away: file it with the AIStore version; a longer idle time-out of shared streams may avoid it.'),
        ('evicting', 0.25, true, false, true, true, 'was evicting objects (LRU)', 'was evicting objects (LRU)', 'A bucket without a backend loses what is evicted: switch LRU off for it (ais bucket props set), and make room; put back what is gone.'),
        ('misplaced_removed', 0.25, true, false, true, true, 'had removed misplaced objects (cleanup)', 'had removed misplaced objects (cleanup)', 'Let a rebalance finish before a cleanup removes what it calls misplaced; put back what is gone.'),
        ('certificate', 0.75, false, false, true, false, 'had an expired certificate', 'had an expired certificate', 'Renew the certificate on all nodes and load it.'),
        ('unexplained', 0.62, false, false, false, false, 'printed errors that no rule knows', 'printed errors that no rule knows', 'Read these lines; a pattern of your own (patterns in aiscorr.toml) gives them a meaning.'),
        ('slow_reads', 0.85, false, false, false, true, 'served reads far slower than before and than its peers', 'served reads far slower than before and than its peers', 'Look at the node''s disks (iostat, SMART), the speed and the errors of its network link (ethtool), and what else runs on its host.'),
        ('slow_reads_once', 0.6, false, false, false, true, 'served reads far slower than before and than its peers', 'served reads far slower than before and than its peers', 'One read that its reader drew out looks alike. Look at the node''s disks (iostat, SMART), the speed and the errors of its network link (ethtool), and what else runs on its host.'),
        ('slow_answers', 0.55, false, false, false, true, 'took far longer to answer than before and than its peers', 'took far longer to answer than before and than its peers', 'Look at the node''s processors, disks and network link at that time, and at what else ran on its host.'),
        ('pressure', 0.65, false, false, false, false, 'was overloaded', 'was overloaded', 'The node delayed requests under load: look at disk utilisation, CPU and memory at that time.'),
        ('handler_panic', 0.62, false, false, false, false, 'panicked in a request handler', 'panicked in a request handler', 'Read the panic and its stack in the stderr copy, and file it with the AIStore version.'),
        ('cut', 0.5, false, false, false, false, 'was cut off', 'was cut off', 'Connections to the node broke while it lived: look at the network between the nodes.'),
        ('primary_change', 0.4, false, false, false, true, 'became primary', 'became primary', 'See why the old primary was lost.'),
        ('resilver', 0.2, false, false, false, true, 'was resilvering', 'was resilvering', 'Housekeeping; no action.'),
        ('rebalance', 0.2, false, false, false, true, 'was rebalancing', 'was rebalancing', 'Housekeeping; no action.'),
        ('goroutines', 0.2, false, false, false, false, 'had very many goroutines', 'had very many goroutines', 'Look at what its requests wait for: a disk or a file system that is frozen or hangs (dmesg: hung task; fsfreeze, snapshots), a slow backend, a peer; its stacks tell (/debug/pprof/goroutine where enabled). By itself it only precedes overload.'),
        ('low_space', 0.1, false, false, false, true, 'was low on space', 'was low on space', 'Free space before the node runs out.'),
        ('busy', 0.1, false, false, false, true, 'was busy', 'was busy', 'Watch it; a line or two of load explain little.'),
        ('cpu_high', 0.05, false, false, false, false, 'had a high CPU load', 'had a high CPU load', 'Watch it; alone it explains little.')
) as t(fault_kind, weight, takes_away, is_refusing, is_loud, takes_connections, broke_words, stalled_words, advice)
