-- Reads from AIStore that ranks of a hung job called slow around its hang.
-- grain: one row a failure of which ranks said so slow_words times or more
-- reads: failure_lead, worker_event, node_endpoint, threshold
-- case: yes
-- note: From one read before the hang (window_margin_s) to the last word of the failure; only reads whose address is one of the cluster's hosts, or has a path of AIStore's interfaces. Who says so need not be the rank that others waited for; a line that names no rank counts as well. It accuses no node, but storage was not quiet to its clients then, whatever the clocks of its logs say.
create or replace view slow_word as
select
    f.failure_id,
    count(*) as told_count,
    count(distinct coalesce(e.rank, -1)) as rank_count,
    max(e.wait_s) as most_s,
    arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no)) as file_id,
    arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no)) as line_no
from failure_lead as f
join threshold as m on m.name = 'window_margin_s'
join threshold as l on l.name = 'slow_words'
join worker_event as e on e.job_id = f.job_id and e.attempt = f.attempt and starts_with(e.pattern, 'app_slow_') and e.utc_ns between f.hang_start_ns - m.value * 1e9 and f.spoke_ns
where regexp_matches(e.url, '/v1/(objects|ml/moss)/|:\d+/s3/') or exists (from node_endpoint as n where n.cluster = f.cluster and split_part(n.endpoint, ':', 1) = split_part(e.endpoint, ':', 1))
group by f.failure_id, l.value
having count(*) >= l.value
