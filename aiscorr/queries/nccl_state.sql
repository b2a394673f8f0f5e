-- Where each rank stood in the stuck collective: enqueued against completed (-p failure=ID).
select r.rank, r.role, r.process_group, f.seq_num, f.op_type, r.last_enqueued, r.last_completed, r.pending, r.activity, r.last_seen_at, r.host
from rank_state as r
join failure as f on f.failure_id = r.failure_id
where r.failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by r.rank
