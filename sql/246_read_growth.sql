-- Growth of a counter of reads (how many, how long, how large they were, from a target's own disks
-- or from a remote backend), or of objects that a target let go of.
-- grain: one row a counter of reads or losses that grew, and statistics line
-- reads: counter_sample, counter_interval
-- stored: yes
-- note: As in counter_delta, of few counters: to find the value before of every counter takes long
-- note: and much memory. Backends have their own (`aws.get.n`, `gcp.get.ns.total`; AIStore 3.30 to
-- note: 5.3). Objects are deleted behind AIStore's back, or evicted.
create or replace view read_growth as
with sample as (
    select file_id, line_no, name, value
    from counter_sample
    where name in ('get.n', 'get.ns.total', 'get.size', 'remote.deleted.del.n', 'lru.evict.n')
        or ends_with(name, '.get.n') or ends_with(name, '.get.ns.total')
)
select
    i.cluster, i.node_id, i.node_role, s.name as counter,
    case when i.is_first or s.value < p.value then s.value else s.value - p.value end as delta,
    i.previous_ns, i.utc_ns, s.file_id, s.line_no
from counter_interval as i
join sample as s on s.file_id = i.file_id and s.line_no = i.line_no
    and s.name = coalesce(i.counter, s.name)
join sample as p on p.file_id = i.before_file_id and p.line_no = i.before_line_no
    and p.name = s.name
where delta > 0
