-- Which chain reaches which rank, and by what (-p failure=ID).
select m.failure_id, m.rank, m.chain_id, m.match_kind, m.score, m.lag_s, i.path as worker_path, m.line_no as worker_line_no, a.path as ais_path, m.ais_line_no
from chain_rank_match as m
join ingested_file as i on i.file_id = m.file_id
join ingested_file as a on a.file_id = m.ais_file_id
where m.failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by m.score desc, m.rank, m.chain_id
