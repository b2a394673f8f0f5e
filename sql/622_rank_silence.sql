-- A rank that fell silent while its peers went on speaking.
-- grain: one row a failure and rank whose last word is far before its peers'
-- reads: failure_case, worker_tail, worker_file, clock
-- case: kept
-- note: Last words are the last lines of a rank before the failure showed. silent_s counts from
-- note: them to the last word of any peer. Only a rank that used to speak is silent: its pause must
-- note: be three times the pauses between its last words.
create or replace view rank_silence as
with word as (
    select c.failure_id, t.rank,
        t.local_ns - case when t.zone_offset_s is null then k.shift_ns else 0 end as utc_ns,
        t.activity, t.text, t.file_id, t.line_no
    from failure_case as c
    join worker_file as f on f.job_id = c.job_id
    join worker_tail as t on t.file_id = f.file_id and f.path_attempt + t.attempt_no = c.attempt
    join clock as k on k.file_id = t.file_id
    where t.rank is not null and t.local_ns is not null
),
last_word as (
    select failure_id, rank, max(utc_ns) as utc_ns,
        (max(utc_ns) - min(utc_ns)) / nullif(count(*) - 1, 0) as pause_ns,
        arg_max(activity, (utc_ns, -file_id, line_no)) as activity,
        arg_max(text, (utc_ns, -file_id, line_no)) as text,
        arg_max(file_id, (utc_ns, -file_id, line_no)) as file_id,
        arg_max(line_no, (utc_ns, -file_id, line_no)) as line_no
    from word
    group by failure_id, rank
),
peer as (
    select *, max(utc_ns) over (partition by failure_id) as peer_ns,
        count(*) over (partition by failure_id) as rank_count
    from last_word
)
select
    failure_id,
    rank,
    make_timestamp_ns(utc_ns) as last_word_at,
    make_timestamp_ns(peer_ns) as peers_last_word_at,
    round((peer_ns - utc_ns) / 1e9, 3) as silent_s,
    activity,
    text,
    file_id,
    line_no
from peer
where rank_count > 1 and peer_ns - utc_ns > 3 * pause_ns + 5000000000
