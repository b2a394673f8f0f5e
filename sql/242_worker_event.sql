-- A recognised line of a worker log with its rank and time, each counted once whatever copies of it were read.
-- grain: one row a recognised line of a job
-- reads: worker_line, worker_file, rank_identity, clock, pattern
-- public: yes
-- stored: yes
-- note: A line without a stamp of its own happened between event_at (the stamp before it, else the job's start) and latest_at (the next stamp in its file). A --tee stream repeats per-rank files: such a line is one event.
create or replace view worker_event as
with stamped as (
    select file_id, line_no, local_ns
    from worker_line
    where stamp_source in ('own', 'wrapper')
),
placed as (
    select
        w.*,
        f.job_id, f.path, f.is_stream_copy, f.path_attempt + w.attempt_no as attempt, f.worker_node_no, f.path_local_rank,
        w.local_ns - case when w.zone_offset_s is null then k.shift_ns else 0 end as stamp_ns,
        min(case when w.stamp_source in ('own', 'wrapper') then w.local_ns - case when w.zone_offset_s is null then k.shift_ns else 0 end end)
            over (partition by f.job_id, f.path_attempt + w.attempt_no) as start_ns,
        s.local_ns - case when w.zone_offset_s is null then k.shift_ns else 0 end as next_ns,
        max(w.local_ns - case when w.zone_offset_s is null then k.shift_ns else 0 end) over (partition by f.job_id, f.path_attempt + w.attempt_no) as end_ns,
        k.confidence as clock_confidence,
        coalesce(
            w.rank, i.rank, p.rank, l.rank, n.rank, m.rank,
            case when not bool_or(coalesce(w.rank_source, '') = 'tag') over (partition by f.job_id) then w.group_rank end
        ) as real_rank,
        substr(w.text, w.body_start + 1) as body
    from worker_line as w
    join worker_file as f on f.file_id = w.file_id
    join clock as k on k.file_id = w.file_id
    asof left join stamped as s on s.file_id = w.file_id and s.line_no >= w.line_no
    left join rank_identity as i on i.kind = 'file' and i.file_id = w.file_id
    left join rank_identity as p on p.kind = 'pid' and p.file_id = w.file_id and p.number = w.pid
    left join rank_identity as l on l.kind = 'local' and l.file_id = w.file_id and l.number = w.local_rank
    left join rank_identity as n on n.kind = 'pid' and n.file_id is null and n.job_id = f.job_id and n.number = w.pid
    left join rank_identity as m on m.kind = 'local' and m.file_id is null and m.job_id = f.job_id and m.number = w.local_rank
),
timed as (
    select
        * exclude (stamp_ns),
        case when stamp_source = 'after' then least(start_ns, stamp_ns) else stamp_ns end as utc_ns,
        case when stamp_source in ('own', 'wrapper', 'after') then stamp_ns else greatest(coalesce(next_ns, end_ns), stamp_ns) end as latest_ns
    from placed
),
numbered as (
    select
        *,
        row_number() over (
            partition by file_id, real_rank, pattern, body, case when stamp_source = 'own' then utc_ns end
            order by line_no
        ) as copy_no
    from timed
),
single as (
    select *
    from numbered
    qualify real_rank is null or row_number() over (
        partition by job_id, attempt, real_rank, pattern, body, case when stamp_source = 'own' then utc_ns end, copy_no
        order by is_stream_copy, contains(path, '!'), file_id
    ) = 1
)
select
    s.file_id, s.line_no, s.byte_offset, s.path, s.job_id, s.attempt,
    make_timestamp_ns(s.utc_ns) as event_at,
    make_timestamp_ns(s.latest_ns) as latest_at,
    s.utc_ns,
    s.latest_ns,
    s.stamp_source, s.clock_confidence,
    s.real_rank as rank,
    s.rank_source, s.local_rank, s.group_rank, s.pid, s.host, s.worker_node_no, s.severity, s.pattern,
    p.tier, p.role, p.failure_class, p.rank_effect, p.marks, p.activity,
    s.process_group, s.seq_num, s.op_type, s.numel_in, s.numel_out, s.timeout_ms, s.ran_for_ms, s.last_enqueued, s.last_completed,
    s.peer_rank, s.exit_code, s.exception, s.user_location, s.endpoint, s.url, s.request_ns, s.wid, s.xid, s.node_id, s.bucket, s.object,
    s.status_code, s.retry_no, s.retry_limit, s.wait_s, s.received_count, s.expected_count, s.step, s.world_size,
    s.block_line_no, s.is_uncaught, s.is_chained, s.frame_kind, s.collective,
    substr(s.text, s.message_start + 1) as message,
    s.text,
    s.capture
from single as s
left join pattern as p on p.pattern = s.pattern and p.format = 'worker'
