-- A rank that tells nothing of an end, while every other rank tells that it lost a peer.
-- grain: one row a rank of a failed attempt
-- reads: failed_attempt, failed_rank, failure_signal, rank_host, last_step, worker_tail,
-- reads: worker_file, clock, threshold
-- case: yes
-- note: Somebody left first, and who lost a peer did not. is_gone: it is one of these ranks, or
-- note: their host as a whole: the number of ranks is stated, nothing else was wrong, and their own
-- note: lines go on until the steps of the others end, so that their log was not cut. A rank that
-- note: alone has no log at all is the one where a peer's end closed a connection: nobody else is
-- note: left, and a network would have let it time out. line_no: in their own file alone a
-- note: launcher was asked to stop.
create or replace view departed_rank as
with lost as (
    select job_id, attempt,
        bool_or(regexp_matches(text, '(?i)(closed|reset) by peer')) as is_closed
    from failure_signal
    where signal = 'victim' and is_peer_lost
    group by job_id, attempt
    having count(*) = count(rank)
),
signalled as (
    select job_id, attempt, any_value(file_id) as file_id,
        arg_min(line_no, (utc_ns, line_no)) as line_no, min(utc_ns) as stopped_ns
    from failure_signal
    where pattern = 'torchrun_agent_signalled'
    group by job_id, attempt
    having min(file_id) = max(file_id)
),
said as (
    select
        f.job_id, f.path_attempt + t.attempt_no as attempt, t.rank,
        max(t.local_ns - if(t.zone_offset_s is null, k.shift_ns, 0)) as said_ns
    from worker_tail as t
    join worker_file as f on f.file_id = t.file_id
    join clock as k on k.file_id = t.file_id
    group by all
),
wordless as (
    select
        r.job_id, r.attempt, r.rank, r.file_id, r.is_absent, l.is_closed, h.place, h.place_count,
        h.rank_count,
        g.line_no,
        a.is_world_stated and a.timeout_count + a.crash_count + a.launcher_count = 0
            and coalesce(a.cancel_ns = g.stopped_ns, a.cancel_ns is null) as is_plain,
        coalesce(s.said_ns >= p.step_ns - greatest(2 * p.interval_ns, t.value * 1e9), false)
            as is_heard
    from failed_rank as r
    join failed_attempt as a on a.job_id = r.job_id and a.attempt = r.attempt
    join lost as l on l.job_id = r.job_id and l.attempt = r.attempt
    join threshold as t on t.name = 'notice_s'
    left join rank_host as h on h.job_id = r.job_id and h.attempt = r.attempt and h.rank = r.rank
    left join last_step as p on p.job_id = r.job_id and p.attempt = r.attempt
    left join signalled as g on g.job_id = r.job_id and g.attempt = r.attempt
        and g.file_id = r.file_id
    left join said as s on s.job_id = r.job_id and s.attempt = r.attempt and s.rank = r.rank
    anti join (
        select job_id, attempt, rank from failure_signal
        where signal is not null and signal not in ('retry', 'error')
    ) as e
        on e.job_id = r.job_id and e.attempt = r.attempt and e.rank = r.rank
)
select
    job_id, attempt, rank, file_id, line_no,
    bool_and(is_plain and (is_heard or is_absent)) over same
        and case
            when count(*) over same = 1
                then if(is_absent, is_closed, any_value(rank_count) over same >= 2)
            else not bool_or(is_absent) over same
                and count(*) over same * 2 <= any_value(rank_count) over same
                and min(place) over same = max(place) over same
                and count(*) over same = any_value(place_count) over same
        end as is_gone
from wordless
window same as (partition by job_id, attempt)
