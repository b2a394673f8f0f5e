-- The steps of the chains of a failure, in order (-p failure=ID).
select s.chain_id, s.step_no, s.event_at, s.step, s.node_id, s.peer_node_id, s.wid, s.repeat_count, i.path, s.line_no, s.text
from failure_chain as c
join get_batch_chain_step as s on s.chain_id = c.chain_id
left join ingested_file as i on i.file_id = s.file_id
where c.failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by c.position, s.step_no
