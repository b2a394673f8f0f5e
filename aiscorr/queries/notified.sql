-- Who detected the time-out itself and who only heard of it (-p failure=ID).
select r.rank, r.is_initiator, r.is_notified, r.role, min(s.event_at) as first_at, min(s.line_no) as line_no, i.path
from rank_state as r
join failure as f on f.failure_id = r.failure_id
left join failure_signal as s on s.job_id = f.job_id and s.attempt = f.attempt and s.rank = r.rank and s.signal in ('timeout', 'notified')
left join ingested_file as i on i.file_id = s.file_id
where r.failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1) and (r.is_initiator or r.is_notified)
group by r.rank, r.is_initiator, r.is_notified, r.role, i.path
order by first_at, r.rank
