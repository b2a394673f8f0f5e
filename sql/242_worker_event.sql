-- A recognised line of a worker log with its rank and time, each counted once whatever copies of it
-- were read.
-- grain: one row a recognised line of a job
-- reads: worker_line, worker_file, rank_identity, clock, pattern, ais_event
-- public: yes
-- stored: yes
-- note: A line without a stamp of its own happened between event_at (the stamp before it, else the
-- note: job's start) and latest_at (the next stamp in its file), and not before the first line of
-- note: AIStore about a request that it names. A --tee stream repeats per-rank files: such a line
-- note: is one event.
create or replace view worker_event as
with line as (
    select
        coalesce(
            w.local_ns not between f.first_ns - 2678400e9 and f.last_ns + 2678400e9, false
        ) as is_off,
        w.rowid as row_no, w.file_id, w.line_no, if(is_off, null, w.local_ns) as local_ns,
        if(is_off, null, w.stamp_source) as stamp_source,
        w.rank, w.rank_source, w.group_rank, w.pid, w.local_rank, w.task, w.pattern, w.wid,
        w.process_group,
        f.job_id, f.path, f.is_stream_copy, f.path_attempt + w.attempt_no as attempt,
        f.worker_node_no, k.confidence as clock_confidence,
        case when w.zone_offset_s is null then k.shift_ns else 0 end as shift_ns,
        w.stamp_source in ('own', 'wrapper') and not is_off as is_stamped,
        substr(w.text, w.body_start + 1) as body
    from worker_line as w
    join worker_file as f on f.file_id = w.file_id
    join clock as k on k.file_id = w.file_id
),
span as (
    select job_id, attempt, min(local_ns - shift_ns) filter (where is_stamped) as start_ns,
        max(local_ns - shift_ns) as end_ns
    from line group by job_id, attempt
),
tagged as (select distinct job_id from line where rank_source = 'tag'),
placed as (
    select
        w.*, a.start_ns, a.end_ns, d.tie_ns,
        w.local_ns - w.shift_ns as stamp_ns,
        s.local_ns - w.shift_ns as next_ns,
        t.job_id is null or regexp_full_match(w.process_group, '0( ?\(default_pg\))?') as is_global,
        coalesce(
            w.rank, i.rank, p.rank, l.rank, n.rank, m.rank, b.rank,
            if(is_global, w.group_rank, null)
        ) as real_rank
    from line as w
    join span as a on a.job_id = w.job_id and a.attempt is not distinct from w.attempt
    asof
        left join (select file_id, line_no, local_ns from line where is_stamped) as s
            on s.file_id = w.file_id
            and s.line_no >= w.line_no
    left join (select wid, min(utc_ns) as tie_ns from ais_event where wid is not null group by wid)
        as d
        on d.wid = w.wid
        and not w.is_stamped
    left join tagged as t on t.job_id = w.job_id
    left join rank_identity as i on i.kind = 'file' and i.file_id = w.file_id
    left join rank_identity as p on p.kind = 'pid' and p.file_id = w.file_id and p.number = w.pid
    left join rank_identity as l on l.kind = 'local' and l.file_id = w.file_id
        and l.number = w.local_rank
    left join rank_identity as b on b.kind = 'place' and b.file_id = w.file_id
        and b.task is not distinct from w.task and b.number = w.local_rank
    left join rank_identity as n on n.kind = 'pid' and n.file_id is null and n.job_id = w.job_id
        and n.number = w.pid
    left join rank_identity as m on m.kind = 'local' and m.file_id is null and m.job_id = w.job_id
        and m.number = w.local_rank
),
timed as (
    select
        row_no, file_id, line_no, path, job_id, attempt, is_stream_copy, worker_node_no,
        clock_confidence, stamp_source, pattern, body, real_rank,
        case when stamp_source = 'after' then least(start_ns, stamp_ns) when tie_ns > stamp_ns
            and tie_ns <= coalesce(next_ns, end_ns) then tie_ns else stamp_ns end
            as utc_ns,
        case when stamp_source in ('own', 'wrapper', 'after') then stamp_ns
            else greatest(coalesce(next_ns, end_ns), stamp_ns) end
            as latest_ns
    from placed
),
numbered as (
    select
        *,
        row_number()
            over (partition by file_id, real_rank, pattern, body,
                case when stamp_source = 'own' then utc_ns end order by line_no, row_no)
                as copy_no
    from timed
),
single as (
    select * from numbered
    qualify real_rank is null or row_number() over (
        partition by job_id, attempt, real_rank, pattern, body,
            case when stamp_source = 'own' then utc_ns end, copy_no
        order by is_stream_copy, contains(path, '!'), file_id, row_no
    ) = 1
)
select
    w.file_id, w.line_no, w.byte_offset, s.path, s.job_id, s.attempt,
    make_timestamp_ns(s.utc_ns) as event_at, make_timestamp_ns(s.latest_ns) as latest_at, s.utc_ns,
    s.latest_ns,
    s.stamp_source, s.clock_confidence,
    s.real_rank as rank,
    w.rank_source, w.local_rank, w.group_rank, w.pid, w.host, s.worker_node_no, w.severity,
    w.pattern,
    p.tier, p.role, p.failure_class, p.rank_effect, p.marks, p.activity,
    w.process_group, w.seq_num, w.op_type, w.numel_in, w.numel_out, w.timeout_ms, w.ran_for_ms,
    w.last_enqueued, w.last_completed,
    w.peer_rank, w.exit_code, w.exception, w.user_location, w.endpoint, w.url, w.request_ns, w.wid,
    w.xid, w.node_id, w.bucket, w.object,
    w.status_code, w.retry_no, w.retry_limit, w.wait_s, w.received_count, w.expected_count, w.step,
    w.world_size,
    w.block_line_no, w.is_uncaught, w.is_chained, w.frame_kind, w.collective,
    substr(w.text, w.message_start + 1) as message,
    w.text,
    w.capture
from single as s
join worker_line as w on w.rowid = s.row_no
left join pattern as p on p.pattern = w.pattern and p.format = 'worker'
