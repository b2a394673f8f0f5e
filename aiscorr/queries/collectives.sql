-- The collectives of one process group, or the sends and receives of one that has nothing else, one column a rank, oldest first (-p job=ID -p group=NAME -p from_rank=0 -p to_rank=7).
-- without rows: it shows Flight Recorder dumps, and no group that the analysis can compare was waited in (aiscorr query @nccl_state shows the counters of worker logs)
pivot (
    select
        c.process_group, if(c.is_p2p, c.p2p_seq_num, c.seq_num) as seq_num, c.rank,
        string_agg(c.operation || coalesce(' ' || c.input_sizes, '') || coalesce(' ' || c.state, ''), ' + ' order by c.place_no) as call
    from fr_collective as c
    where c.is_used
        and (not c.is_p2p or not exists (
            from fr_collective as o where o.job_id = c.job_id and o.group_key = c.group_key and o.is_used and not o.is_p2p))
        and (c.job_id = $job or ($job is null and c.job_id = (select job_id from fr_dump where state = 'used' order by last_ns desc nulls last, job_id limit 1)))
        and (c.guid = $group or c.process_group = $group or ($group is null and c.group_key = (select f.group_key from fr_failure as f where f.job_id = c.job_id order by f.attempt desc limit 1)))
        and c.rank between coalesce($from_rank::integer, 0) and coalesce($to_rank::integer, 2147483647)
    group by all
)
on rank
using any_value(call)
group by process_group, seq_num
order by seq_num
