-- A rank whose loaders said, before it stood in data loading, that decoding takes their time and reading does not.
-- grain: one row a failure
-- reads: failure_lead, worker_event, threshold
-- case: yes
-- note: Two lines or more of the rank itself, in twice stall_reach_s before the others waited for it or its reader gave up, all of which tell of short reads (below a tenth of the decoding, transforming or augmenting); the last that tells of a decoding must tell of one of crawl_s or longer, unless two of them or more were said while the others waited. A line that the rank has read and is decoding counts as well.
create or replace view decoding_loader as
with line as (
    select
        f.failure_id, w.file_id, w.line_no, w.utc_ns, coalesce(w.utc_ns >= f.hang_start_ns, false) as is_in_hang,
        json_extract_string(w.capture, '$.read_s')::double * if(json_extract_string(w.capture, '$.read_ms') is null, 1.0, 0.001) as read_s,
        json_extract_string(w.capture, '$.decode_s')::double * if(json_extract_string(w.capture, '$.decode_ms') is null, 1.0, 0.001) as decode_s
    from failure_lead as f
    join threshold as r on r.name = 'stall_reach_s'
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank = f.culprit_rank and w.pattern = 'loader_time_split'
        and w.utc_ns between coalesce(f.hang_start_ns, f.crash_ns) - r.value * 2e9 and coalesce(f.spoke_ns, f.crash_ns)
)
select
    l.failure_id,
    count(*) as line_count,
    round(arg_max(l.decode_s, (l.utc_ns, l.line_no)) filter (where l.decode_s is not null), 1) as decode_s,
    round(arg_max(l.read_s, (l.utc_ns, l.line_no)), 2) as read_s,
    arg_max(l.file_id, (l.utc_ns, l.line_no)) as file_id,
    arg_max(l.line_no, (l.utc_ns, l.line_no)) as line_no
from line as l
join threshold as c on c.name = 'crawl_s'
group by l.failure_id
having count(*) >= 2 and bool_and(coalesce(l.read_s * 10 <= l.decode_s, l.read_s < 1.0))
    and (arg_max(l.decode_s, (l.utc_ns, l.line_no)) filter (where l.decode_s is not null) >= any_value(c.value) or count(l.decode_s) filter (where l.is_in_hang) >= 2)
