-- A statistics line of a target by which its reads took long on average.
-- grain: one row a statistics line
-- reads: read_growth, threshold
-- stored: yes
-- note: crawl_s and longer, of three reads and more. What follows from them is computed only where
-- note: there are some.
create or replace view long_read as
select t.cluster, t.node_id, t.previous_ns, t.utc_ns, t.file_id, t.line_no, n.delta as read_count,
    t.delta as took_ns
from read_growth as t
join read_growth as n on n.file_id = t.file_id and n.line_no = t.line_no and n.counter = 'get.n'
join threshold as c on c.name = 'crawl_s'
where t.counter = 'get.ns.total' and t.node_role = 'target' and n.delta >= 3
    and t.delta >= c.value * 1e9 * n.delta
