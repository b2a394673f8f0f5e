-- A rank whose loaders said, before it stood in data loading, that decoding takes their time and reading does not.
-- grain: one row a failure
-- reads: failure_lead, worker_event, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: worker_event where pattern = 'loader_time_split'
-- note: Two lines or more of the rank itself, in twice stall_reach_s before the others waited for it or its reader gave up, all of which tell of short reads (below a tenth of the decoding); the last must tell of a decoding of crawl_s or longer.
create or replace view decoding_loader as
select
    f.failure_id,
    count(*) as line_count,
    round(arg_max(json_extract_string(w.capture, '$.decode_s')::double, (w.utc_ns, w.line_no)), 1) as decode_s,
    round(arg_max(json_extract_string(w.capture, '$.read_s')::double, (w.utc_ns, w.line_no)), 1) as read_s,
    arg_max(w.file_id, (w.utc_ns, w.line_no)) as file_id,
    arg_max(w.line_no, (w.utc_ns, w.line_no)) as line_no
from failure_lead as f
join threshold as r on r.name = 'stall_reach_s'
join threshold as c on c.name = 'crawl_s'
join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank = f.culprit_rank and w.pattern = 'loader_time_split'
    and w.utc_ns between coalesce(f.hang_start_ns, f.crash_ns) - r.value * 2e9 and coalesce(f.spoke_ns, f.crash_ns)
group by f.failure_id
having count(*) >= 2
    and bool_and(json_extract_string(w.capture, '$.read_s')::double * 10 <= json_extract_string(w.capture, '$.decode_s')::double)
    and arg_max(json_extract_string(w.capture, '$.decode_s')::double, (w.utc_ns, w.line_no)) >= any_value(c.value)
