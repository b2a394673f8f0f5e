-- Reads of a node by one statistics line: how many ended, how long they took together and how large
-- they were, all of them, and those from each remote backend.
-- grain: one row a statistics line and backend, and one for all reads; where a counter grew
-- reads: counter_sample, counter_interval
-- stored: yes
-- note: As in counter_delta, of few counters: to find the value before of every counter takes long
-- note: and much memory. backend is null in the row of all reads; backends have counters of their
-- note: own (`aws.get.n`, `gcp.get.ns.total`; AIStore 3.30 to 5.3), of which sizes are not read.
create or replace view read_growth as
with printed as (
    select file_id, line_no, split_part(name, 'get.', 1) as prefix,
        max(value) filter (where ends_with(name, 'get.n')) as read_count,
        max(value) filter (where ends_with(name, 'get.ns.total')) as took_ns,
        max(value) filter (where name = 'get.size') as byte_count
    from counter_sample
    where (name in ('get.n', 'get.ns.total', 'get.size') or ends_with(name, '.get.n')
        or ends_with(name, '.get.ns.total'))
        and not starts_with(name, 'err.') and not starts_with(name, 'ratelim.')
    group by file_id, line_no, prefix
),
placed as materialized (
    select i.*, p.prefix, p.read_count, p.took_ns, p.byte_count
    from counter_interval as i
    join printed as p on p.file_id = i.file_id and p.line_no = i.line_no
),
grown as (
    select
        s.cluster, s.node_id, s.node_role, s.prefix, s.previous_ns, s.utc_ns, s.file_id, s.line_no,
        case when coalesce(s.counter = s.prefix || 'get.n', true) then s.read_count
            - case when s.is_first or s.read_count < b.read_count then 0 else b.read_count end end
            as read_count,
        case when coalesce(s.counter = s.prefix || 'get.ns.total', true) then s.took_ns
            - case when s.is_first or s.took_ns < b.took_ns then 0 else b.took_ns end end
            as took_ns,
        case when coalesce(s.counter = 'get.size', true) then s.byte_count
            - case when s.is_first or s.byte_count < b.byte_count then 0 else b.byte_count end end
            as byte_count
    from placed as s
    join printed as b on b.file_id = s.before_file_id and b.line_no = s.before_line_no
        and b.prefix = s.prefix
)
select
    cluster, node_id, node_role, nullif(rtrim(prefix, '.'), '') as backend,
    min(previous_ns) as previous_ns, utc_ns, file_id, line_no,
    nullif(max(read_count), 0) as read_count, nullif(max(took_ns), 0) as took_ns,
    nullif(max(byte_count), 0) as byte_count
from grown
where greatest(read_count, took_ns, byte_count) > 0
group by cluster, node_id, node_role, prefix, utc_ns, file_id, line_no
