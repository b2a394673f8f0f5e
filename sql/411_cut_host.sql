-- A host of a job that had lost its way to AIStore: all its ranks failed to connect to several nodes, and no rank of another host did to any.
-- grain: one row a failure
-- reads: unreached_request
-- case: yes
-- note: Needs ranks of other hosts, two ranks of the host, and three addresses at least: one node that is gone, or one rank that fails, is no cut host.
create or replace view cut_host as
with counted as (
    select
        failure_id, min(host) as host, min(place_count) as place_count, min(seen_count) as seen_count, count(distinct rank) as rank_count, count(distinct split_part(endpoint, ':', 1)) as address_count,
        arg_min(file_id, (from_ns, file_id, line_no)) as file_id, arg_min(line_no, (from_ns, file_id, line_no)) as line_no
    from unreached_request
    where from_ns between low_ns and ended_ns
    group by failure_id
    having count(distinct place) = 1 and count(*) = count(place)
)
select
    c.failure_id,
    c.host,
    c.rank_count,
    c.address_count,
    c.file_id,
    c.line_no
from counted as c
where c.rank_count > 1 and c.rank_count = c.place_count and c.address_count > 2 and c.seen_count > c.place_count
