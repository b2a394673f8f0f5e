-- A line that says that something is wrong with an AIStore node that is there, or that it is over,
-- by kind of trouble.
-- grain: one row a line about the state of a node
-- reads: node_witness
-- stored: yes
-- note: since_ns: a stuck batch has been so for the time its line says. is_held: the trouble stays
-- note: until a line says that it is over. is_moved: nothing lay on the disk any more as it went
-- note: out of service.
create or replace view trouble_sign as
select
    cluster, node_id, effect, utc_ns, file_id, line_no, text,
    utc_ns - coalesce(case when effect = 'batch_stuck' then age_ns end, 0) as since_ns,
    pattern = 'other_error' as is_error,
    effect in ('mountpath_enabled', 'memory_ok', 'cpu_ok', 'rebalance_done', 'space_ok') as is_end,
    effect = 'mountpath_disabled' as is_held,
    effect = 'mountpath_moved' as is_moved,
    case
        when effect = 'out_of_space'
            or (effect = 'io_error' and contains(text, 'no space left on device'))
            then 'out_of_space'
        when effect = 'pressure' and pattern = 'ais_disk_busy'
            and not regexp_matches(text, '[MGT]i?B/s')
            then 'disk_slow'
        else k.fault_kind
    end as fault_kind
from node_witness
join (
    values
        ('disk_fault', 'disk_fault'), ('mountpath_disabled', 'disk_fault'),
        ('mountpath_moved', 'disk_fault'),
        ('mountpath_enabled', 'disk_fault'), ('oom', 'memory'), ('low_memory', 'memory'),
        ('memory_ok', 'memory'),
        ('out_of_space', 'out_of_space'), ('space_ok', 'out_of_space'), ('pressure', 'pressure'),
        ('throttled', 'pressure'), ('disk_stuck', 'disk_stuck'), ('rejecting', 'rejecting'),
        ('cpu_high', 'cpu_high'), ('cpu_ok', 'cpu_high'), ('low_space', 'low_space'),
        ('rebalance_started', 'rebalance'), ('rebalance_aborted', 'rebalance'),
        ('rebalance_done', 'rebalance'),
        ('resilver', 'resilver'), ('batches_aborted', 'batches_aborted'),
        ('jobs_refused', 'jobs_refused'),
        ('batch_stuck', 'batch_stuck'), ('corrupt', 'corrupt'), ('evicting', 'evicting'),
        ('files_exhausted', 'files_exhausted'), ('misplaced_removed', 'misplaced_removed'),
        ('mover_closed', 'mover_closed'), ('restore_failed', 'restore_failed'),
        ('io_error', 'disk_errors'),
        ('backend_failed', 'backend'), ('certificate_expired', 'certificate'),
        ('primary_changed', 'primary_change'), ('goroutines_high', 'goroutines'),
        ('handler_panic', 'handler_panic'), ('unknown_error', 'unexplained')
) as k(effect, fault_kind) using (effect)
