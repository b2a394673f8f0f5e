-- What a rank was doing when its peers waited for it, as far as stacks, tracebacks or its last
-- words tell.
-- grain: one row a rank of a failed attempt and witness
-- reads: stack_activity, worker_event, worker_file, worker_tail, rank_identity, failed_attempt,
-- reads: failed_rank, rank_crash, failure_signal, stuck_collective, rank_position, last_step,
-- reads: public_service, clock, threshold
-- case: yes
-- note: A rank's last stack counts: where its main thread stands in no call of a client, words of a
-- note: request before are no wait. A line that tells what the rank did and prints no time was said
-- note: after the one before it. A step that was made says less than any stack that shows
-- note: something, and a traceback from a closed peer less than what the rank said late in the
-- note: hang. A step joins all ranks: who was at its data long before the last one got over it.
-- note: Who waits in a collective says nothing of its own work, but its loaders and other threads
-- note: may: what a line that names no rank tells of the hang is of one that does not wait.
create or replace view rank_activity as
with tail as (
    select t.*, w.job_id, w.path_attempt + t.attempt_no as attempt, w.is_stream_copy,
        if(t.zone_offset_s is null, k.shift_ns, 0) as shift_ns,
        case when t.activity is null then t.local_ns else max(t.local_ns) over same end as said_ns,
        max(t.line_no) filter (where t.rank is not null or t.local_rank is not null)
            over (partition by t.file_id, t.attempt_no) as last_no
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    left join clock as k on k.file_id = t.file_id
    window same as (partition by t.file_id, t.attempt_no, t.rank, t.local_rank order by t.line_no)
),
nameless as (
    select
        job_id, attempt, file_id, line_no, activity, text, local_ns - shift_ns as utc_ns,
        activity = 'storage_wait' and regexp_matches(text, '\s[\w.-]+ [\w.-]+\[\d+\]: ')
            and (utc_ns is not null or line_no > last_no) as is_daemon,
        try_cast(
            regexp_extract(text,
                '\b(?:after|for|since) (\d+(?:\.\d+)?) ?(?:s|sec|secs|seconds)\b', 1)
            as double)
            * 1e9
            as age_ns,
        try_cast(
            last_value(
                nullif(
                    regexp_extract(text,
                        '(?i)\brank[ =:#]?(\d+)\b.{0,60}\b(?:no (?:step|progress|heartbeat)|stuck'
                            '|hung|hang|stalled|silent)\b',
                        1),
                    '') ignore nulls)
            over (partition by file_id, attempt_no
                order by line_no range between 6 preceding and 1 preceding)
                as integer)
            as watched_rank
    from tail
    where rank is null and local_rank is null
),
idle as (
    select r.job_id, r.attempt, r.rank, r.host, coalesce(r.file_id, o.file_id) as file_id
    from failed_rank as r
    left join (select job_id, attempt, min(file_id) as file_id from failed_rank
        group by job_id, attempt having count(distinct file_id) = 1)
        as o
        on o.job_id = r.job_id and o.attempt = r.attempt
    anti join (from rank_position where is_waiting or is_held) as w
        on w.job_id = r.job_id and w.attempt = r.attempt and w.rank = r.rank
),
hang_word as (
    select s.file_id, s.line_no, coalesce(f.rank, o.rank, v.rank) as rank, s.is_daemon
    from nameless as s
    join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
        and coalesce(s.utc_ns between k.hang_start_ns and k.spoke_ns, s.is_daemon)
    join threshold as p on p.name = 'hang_word_slack_s'
    join threshold as h on h.name = 'hang_word_share'
    left join (select job_id, attempt, file_id, min(rank) as rank from idle
        group by job_id, attempt, file_id having count(*) = 1)
        as f
        on f.job_id = s.job_id and f.attempt = s.attempt and f.file_id = s.file_id
        and not s.is_daemon
        and s.utc_ns - s.age_ns between k.hang_start_ns - p.value * 1e9 and k.hang_start_ns + 2e9
        and s.age_ns >= h.value * (k.spoke_ns - k.hang_start_ns)
    left join (select job_id, attempt, host, min(rank) as rank from idle
        group by job_id, attempt, host having count(*) = 1)
        as o
        on o.job_id = s.job_id and o.attempt = s.attempt and s.is_daemon
        and split_part(o.host, '.', 1)
            = regexp_extract(s.text, '\s([\w-]+)[\w.-]* [\w.-]+\[\d+\]: ', 1)
        and coalesce(s.utc_ns >= (k.hang_start_ns + k.spoke_ns) / 2, true)
    left join idle as v on v.job_id = s.job_id and v.attempt = s.attempt
        and v.rank = s.watched_rank
    where s.activity is not null and coalesce(f.rank, o.rank, v.rank) is not null
),
words as (
    select
        t.job_id, t.attempt,
        coalesce(t.rank, l.rank, i.rank, h.rank, b.rank) as rank,
        case
            when t.activity = 'storage_wait'
                and regexp_matches(t.text, 'host=''[A-Za-z]|https?://[A-Za-z]')
                and not regexp_matches(t.text,
                    '(?i)/v1/(objects|buckets|ml|cluster|daemon)\b|/s3/|[/.''-](ais|s3)|(ais|s3|gs'
                        '|msc)://|localhost')
                    or t.activity = 'storage_wait'
                    and exists (from public_service as p
                        where regexp_matches(t.text,
                            'after connection broken by [^\r\n]*: (' || p.path_pattern || ')'))
                        then 'another_service'
            when t.activity in ('checkpoint', 'collective', 'sleep')
                and regexp_matches(t.text,
                    '\b(ais|s3|gs)://|/v1/objects/|https?://[\w.-]+:5108[01]\b')
                    then 'storage_wait'
            when t.activity = 'data_loading'
                and regexp_matches(regexp_replace(t.text, '\S+\.py:\d+:', ''),
                    '(^|[\s=''"(:])/[\w.-]+/[\w./-]+')
                and not contains(t.text, '://') then 'file_read'
            else t.activity
        end as activity, t.file_id, t.line_no, t.text, t.local_ns is not null as is_stamped,
        t.said_ns - t.shift_ns as utc_ns,
        row_number()
            over (partition by t.job_id, t.attempt,
                coalesce(t.rank, l.rank, i.rank, h.rank, b.rank)
                order by h.is_daemon desc nulls last, t.said_ns desc nulls last,
                t.is_stream_copy, t.line_no desc)
                as word_no
    from tail as t
    left join rank_identity as l on l.kind = 'local' and l.file_id = t.file_id
        and l.number = t.local_rank
    left join rank_identity as i on i.kind = 'file' and i.file_id = t.file_id
        and t.local_rank is null
    left join hang_word as h on h.file_id = t.file_id and h.line_no = t.line_no
    left join (select job_id, attempt, file_id, min(rank) as rank from failed_rank
        group by job_id, attempt, file_id)
        as b
        on b.file_id = t.file_id
        and b.job_id = t.job_id and b.attempt = t.attempt
        and t.activity in ('decoding', 'batch_preparation', 'data_loading')
        and t.local_rank is null and regexp_matches(t.text, '\d%\|')
        and not contains(t.text, '100%|')
    where coalesce(t.rank, l.rank, i.rank, h.rank, b.rank) is not null
        and not regexp_matches(regexp_replace(coalesce(t.text, ''), '^.*\d%\|.*$', ''),
            'ProcessGroup\w*\.cpp:\d+\]')
),
slow as (
    select job_id, attempt,
        unnest(string_split(replace(json_extract_string(capture, '$.slow_ranks'), ' ', ''), ','))
            ::integer as rank,
        utc_ns, file_id, line_no, text
    from worker_event where pattern = 'straggler_detected'
),
left_out
    as (select e.job_id, e.attempt, e.rank, 'skipping' as activity, 'last_words' as witness,
        0.7 as confidence, e.file_id, e.line_no, e.text
    from worker_event as e
        join stuck_collective as k on k.job_id = e.job_id and k.attempt = e.attempt
        join threshold as s on s.name = 'same_cause_s'
            and abs(e.utc_ns - k.hang_start_ns) <= s.value * 1e9
    where e.pattern = 'batch_skipped_not_finite' and e.rank is not null
        and not exists (select 1 from worker_event as n
            where n.job_id = e.job_id and n.attempt = e.attempt and n.rank = e.rank
                and n.utc_ns > e.utc_ns and n.utc_ns < k.spoke_ns
                and n.role in ('cause', 'retry', 'symptom'))
),
trained as (
    select distinct job_id, attempt from words
        where activity in ('step', 'epoch_end', 'evaluation', 'checkpoint')
        union select job_id, attempt from stuck_collective
        where seq_num > (select value from threshold where name = 'trained_seq_num')
)
select job_id, attempt, rank, activity, 'stack' as witness, is_own_code, confidence, file_id,
    line_no, text
from stack_activity
union all by name
select w.job_id, w.attempt, w.rank,
    case when w.activity = 'initialisation' and r.job_id is not null then 'unknown'
        else w.activity end
        as activity,
    'last_words' as witness,
    case when w.activity = 'step' then 0.52 when h.job_id is not null then 0.75 else 0.6 end
        as confidence,
    w.file_id, w.line_no, w.text
from words as w
join failed_attempt as f on f.job_id = w.job_id and f.attempt = w.attempt
left join stuck_collective as h on h.job_id = w.job_id and h.attempt = w.attempt and w.is_stamped
    and w.utc_ns between (h.hang_start_ns + h.spoke_ns) / 2 and h.spoke_ns
left join last_step as p on p.job_id = w.job_id and p.attempt = w.attempt
left join trained as r on r.job_id = w.job_id and r.attempt = w.attempt
where w.word_no = 1 and w.activity is not null
    and not (w.activity in ('storage_wait', 'data_loading', 'worker_wait')
        and coalesce(w.utc_ns < p.step_ns
            - (select value from threshold where name = 'request_pending_s') * 1e9, false))
    and not (w.activity = 'storage_wait'
        and exists (from stack_activity as a
            where a.job_id = w.job_id and a.attempt = w.attempt and a.rank = w.rank and a.is_blank))
union all by name
select s.job_id, s.attempt, s.rank, 'compute' as activity, 'straggler_detection' as witness,
    0.65 as confidence, arg_max(s.file_id, (s.utc_ns, s.line_no)) as file_id,
    arg_max(s.line_no, (s.utc_ns, s.line_no)) as line_no,
    arg_max(s.text, (s.utc_ns, s.line_no)) as text
from slow as s
join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
    and s.utc_ns between k.hang_start_ns - 600000000000 and k.spoke_ns
left join words as w on w.job_id = s.job_id and w.attempt = s.attempt and w.rank = s.rank
    and w.word_no = 1
where coalesce(w.activity, 'unknown') in ('unknown', 'step', 'epoch_end', 'initialisation')
group by s.job_id, s.attempt, s.rank
union all by name
select job_id, attempt, rank, activity, witness, confidence, file_id, line_no, text from left_out
union all by name
select job_id, attempt, rank, activity, 'last_words' as witness, 0.75 as confidence, file_id,
    line_no, text from worker_event where pattern = 'program_watchdog_at_data' and rank is not null
union all by name
select c.job_id, c.attempt, c.rank,
    case c.frame_kind when 'storage' then 'storage_wait' else c.frame_kind end as activity,
    'traceback' as witness, 0.8 as confidence, c.file_id, c.line_no, c.text
from rank_crash as c
where c.frame_kind is not null and c.frame_kind not in ('other', 'another_service')
union all by name
select f.job_id, f.attempt, s.rank, 'collective' as activity, 'traceback' as witness,
    0.7 as confidence, s.file_id, s.line_no, s.text
from failure_signal as s
join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt
left join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
where coalesce(s.signal, 'victim') = 'victim' and s.is_uncaught
    and s.tier in ('collective', 'launcher', 'network')
    and if(k.job_id is null, s.tier = 'collective' or s.is_peer_lost, s.utc_ns <= k.spoke_ns)
