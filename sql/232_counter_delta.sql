-- Growth of one cumulative counter of one node over (previous_at, sampled_at], inside one run of
-- the daemon.
-- grain: one row a cumulative counter of a statistics line
-- reads: counter_sample, counter_interval
-- public: yes
-- note: Zero counters are not printed, so a counter that appears grew from 0 since the statistics
-- note: line before. Nothing is printed while a node idles, so the growth may lie anywhere in the
-- note: interval. A value that falls inside a run means reset-stats: the growth is the new value.
create or replace view counter_delta as
select
    i.cluster, i.node_id, i.node_role, i.process_seq, c.name as counter, i.previous_at,
    i.sampled_at, c.value,
    case when i.is_first or c.value < p.value then c.value else c.value - p.value end as delta,
    not i.is_first and c.value < p.value as is_reset,
    i.previous_ns, i.utc_ns, c.file_id, c.line_no
from counter_interval as i
join counter_sample as c on c.file_id = i.file_id and c.line_no = i.line_no
    and c.name = coalesce(i.counter, c.name)
join counter_sample as p on p.file_id = i.before_file_id and p.line_no = i.before_line_no
    and p.name = c.name
where c.name like '%.n' or c.name like '%.size' or c.name like '%.ns.total'
    or c.name in ('getbatch.rxwait.ns', 'getbatch.throttle.ns')
