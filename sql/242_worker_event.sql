-- A recognised line of a worker log with its rank and time, each counted once whatever copies of it
-- were read.
-- grain: one row a recognised line of a job
-- reads: worker_line, worker_file, rank_identity, clock, pattern, ais_event
-- public: yes
-- stored: yes
-- note: A line without a stamp of its own happened between event_at (the stamp before it, else the
-- note: job's start) and latest_at (the next stamp in its file), and not before the first line of
-- note: AIStore about a request that it names. An error of reading is not before its rank's pause
-- note: ends that a line announced, nor is what its file holds below. A --tee stream repeats
-- note: per-rank files: such a line is one event.
create or replace view worker_event as
with placed as not materialized (
    select
        w.*, w.rowid as row_no, f.job_id, f.path, f.is_stream_copy, f.worker_node_no,
        f.path_attempt + w.attempt_no as attempt, k.confidence as clock_confidence,
        coalesce(
            w.local_ns not between f.first_ns - 2678400e9 and f.last_ns + 2678400e9, false
        ) as is_off,
        if(is_off, null, w.stamp_source) as told_source,
        w.stamp_source in ('own', 'wrapper') and not is_off as is_stamped,
        case when w.zone_offset_s is null then k.shift_ns else 0 end as ahead_ns,
        if(is_off, null, w.local_ns) - ahead_ns as stamp_ns
    from worker_line as w
    join worker_file as f on f.file_id = w.file_id
    join clock as k on k.file_id = w.file_id
),
span as (
    select job_id, attempt, min(stamp_ns) filter (where is_stamped) as start_ns,
        max(stamp_ns) as end_ns
    from placed group by job_id, attempt
),
later as (
    select row_no, next_ns
    from (
        select
            row_no, is_stamped,
            first_value(case when is_stamped then stamp_ns end ignore nulls)
                over (partition by file_id order by line_no
                    range between current row and unbounded following)
                as next_ns
        from placed
    )
    where is_stamped is not true
),
tagged as (select distinct job_id from placed where rank_source = 'tag'),
ranked as not materialized (
    select
        p.*,
        coalesce(
            p.rank, i.rank, u.rank, q.rank, l.rank, n.rank, m.rank, b.rank,
            case when p.group_rank is not null and (t.job_id is null
                or regexp_full_match(p.process_group, '0( ?\(default_pg\))?')) then p.group_rank end
        ) as real_rank
    from placed as p
    left join tagged as t on t.job_id = p.job_id
    left join rank_identity as i on i.kind = 'file' and i.file_id = p.file_id
    left join rank_identity as u on u.kind = 'task' and u.file_id = p.file_id
        and u.number = p.task
    left join rank_identity as q on q.kind = 'pid' and q.file_id = p.file_id and q.number = p.pid
    left join rank_identity as l on l.kind = 'local' and l.file_id = p.file_id
        and l.number = p.local_rank
    left join rank_identity as b on b.kind = 'place' and b.file_id = p.file_id
        and b.task is not distinct from p.task and b.number = p.local_rank
    left join rank_identity as n on n.kind = 'pid' and n.file_id is null and n.job_id = p.job_id
        and n.number = p.pid
    left join rank_identity as m on m.kind = 'local' and m.file_id is null and m.job_id = p.job_id
        and m.number = p.local_rank
),
written as not materialized (
    select
        row_no, file_id, line_no, path, job_id, attempt, is_stream_copy, real_rank, pattern,
        hash(substr(text, body_start + 1)) as body_hash,
        case when told_source = 'own' then stamp_ns end as own_ns
    from ranked
    where real_rank is not null
),
shared as (
    select job_id, real_rank, pattern from written
    group by all
    having min(file_id) <> max(file_id)
),
repeated as (
    select w.job_id, w.real_rank, w.pattern, w.body_hash, w.own_ns
    from written as w
    semi join shared as s
        on s.job_id = w.job_id and s.real_rank = w.real_rank and s.pattern = w.pattern
    group by all
    having min(w.file_id) <> max(w.file_id)
),
numbered as (
    select
        w.*,
        row_number()
            over (partition by w.file_id, w.real_rank, w.pattern, w.body_hash, w.own_ns
                order by w.line_no, w.row_no)
                as copy_no
    from written as w
    semi join repeated as r
        on r.job_id = w.job_id and r.real_rank = w.real_rank and r.pattern = w.pattern
        and r.body_hash = w.body_hash and r.own_ns is not distinct from w.own_ns
),
copy as (
    select row_no from numbered
    qualify row_number() over (
        partition by job_id, attempt, real_rank, pattern, body_hash, own_ns, copy_no
        order by is_stream_copy, contains(path, '!'), file_id, row_no
    ) > 1
),
pause as (
    select r.file_id, r.line_no, coalesce(r.task, r.real_rank) as who,
        r.stamp_ns + 1e9 * try_cast(regexp_extract(r.text,
            '(?i)\b(?:retry(?:ing)?(?: \S+)?|next (?:try|attempt)|again|backing off|sleeping)'
                '(?: (?:in|after|for))? (\d{1,4}(?:\.\d+)?) ?s(?:ec(?:ond)?s?)?\b', 1) as double)
            as over_ns
    from ranked as r
    join pattern as p on p.pattern = r.pattern and p.format = 'worker'
        and p.role in ('cause', 'retry')
    where r.is_stamped and over_ns > r.stamp_ns
),
paused as (
    select row_no, max(past_ns) over (partition by file_id order by line_no, row_no) as past_ns
    from (
        select r.row_no, r.file_id, r.line_no,
            case when p.pattern is not null
                then least(w.over_ns, n.next_ns)::bigint end as past_ns
        from (from ranked where is_stamped is not true) as r
        semi join pause as f on f.file_id = r.file_id
        asof left join pause as w on w.file_id = r.file_id and w.who = coalesce(r.task, r.real_rank)
            and w.line_no < r.line_no
        left join later as n on n.row_no = r.row_no
        left join pattern as p on p.pattern = r.pattern and p.format = 'worker'
            and p.role = 'cause' and p.tier = 'data_io'
    )
),
timed as not materialized (
    select
        r.*,
        case when r.told_source = 'after' then least(a.start_ns, r.stamp_ns)
            when d.tie_ns > r.stamp_ns and d.tie_ns <= coalesce(n.next_ns, a.end_ns)
                then greatest(d.tie_ns, o.past_ns)
            else greatest(r.stamp_ns, o.past_ns) end
            as utc_ns,
        case when r.told_source in ('own', 'wrapper', 'after') then r.stamp_ns
            else greatest(coalesce(n.next_ns, a.end_ns), r.stamp_ns, o.past_ns) end
            as latest_ns
    from ranked as r
    join span as a on a.job_id = r.job_id and a.attempt is not distinct from r.attempt
    left join later as n on n.row_no = r.row_no
    left join paused as o on o.row_no = r.row_no
    left join (select wid, min(utc_ns) as tie_ns from ais_event where wid is not null group by wid)
        as d
        on d.wid = r.wid
        and not r.is_stamped
    anti join copy as c on c.row_no = r.row_no
)
select
    w.file_id, w.line_no, w.byte_offset, w.path, w.job_id, w.attempt,
    make_timestamp_ns(w.utc_ns) as event_at, make_timestamp_ns(w.latest_ns) as latest_at, w.utc_ns,
    w.latest_ns,
    w.told_source as stamp_source, w.clock_confidence,
    w.real_rank as rank,
    w.rank_source, w.local_rank, w.group_rank, w.pid, w.host, w.worker_node_no, w.severity,
    w.pattern,
    p.tier, p.role, p.failure_class, p.rank_effect, p.marks, p.activity,
    w.process_group, w.seq_num, w.op_type, w.numel_in, w.numel_out, w.timeout_ms, w.ran_for_ms,
    w.last_enqueued, w.last_completed,
    w.peer_rank, w.exit_code, w.exception, w.user_location, w.endpoint, w.url, w.request_ns, w.wid,
    w.xid, w.node_id, w.bucket, w.object,
    w.status_code, w.retry_no, w.retry_limit, w.wait_s, w.received_count, w.expected_count, w.step,
    w.world_size,
    w.block_line_no, w.is_uncaught, w.is_chained, w.frame_kind, w.collective,
    regexp_replace(substr(w.text, w.message_start + 1), '^(?:'
        '(?:, *"\w+": *(?:"[^"]*"|\{[^{}]*\}|[\w.]+))*, *"(?:msg|message)": *"'
        '|(?: *[|-] *|\]\[[\w.]+\]\[|\] +)(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: *[|-]|\] -|) +'
        '(?:rank \d+ *[|:-] +|[\w.<>:]+ - +)*'
        '| *(?:[\w.]{1,40}=[^ "]{1,80} )*(?:event|msg|message)="'
        '|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) +(?:\S+ [\w.-]+\[\d+\]: +)?)', '')
        as message,
    w.text,
    w.capture
from timed as w
left join pattern as p on p.pattern = w.pattern and p.format = 'worker'
