-- Seconds a step took at one moment of a failed attempt, on one time axis, and what was usual
-- before.
-- grain: one row a kept progress line before a failure
-- reads: step_time, failure_case, worker_event, threshold
-- case: yes
-- note: The mean since the line before where that is 10 s or more ago, else what the line prints:
-- note: stamps of whole seconds say little of one step. A progress bar prints no time; its elapsed
-- note: time, or the seconds a step took times the steps, is counted back from the moment the job
-- note: stalled, and lies between the stamped lines around it.
create or replace view step_pace as
with told as (
    select
        f.failure_id, f.stall_ns, s.*,
        case
            when s.utc_ns is null
                then coalesce(s.elapsed_s,
                    sum(s.step_s * s.gap_steps)
                        over (partition by f.failure_id, s.rank, s.pattern, s.file_id
                            order by s.line_no, s.step),
                    0) end
            as spent_s
    from step_time as s
    join failure_case as f on f.job_id = s.job_id and f.attempt = s.attempt
    where s.step_s is not null
        and (s.utc_ns is null or f.stall_ns is null or s.utc_ns <= f.stall_ns + 60000000000)
),
stamped as (
    select file_id, line_no, utc_ns from worker_event
        where stamp_source in ('own', 'wrapper')
            and file_id in (select file_id from told where utc_ns is null)
),
counted as (
    select *,
        coalesce(utc_ns,
            stall_ns
                - ((max(spent_s) over (partition by failure_id, rank, pattern, file_id) - spent_s)
                    * 1e9)::bigint)
            as counted_ns
    from told
),
line as (
    select
        t.failure_id, t.stall_ns, t.job_id, t.attempt, t.rank, t.step, t.pattern, t.data_s,
        t.file_id, t.line_no, t.text,
        t.utc_ns is not null as is_exact,
        case when t.utc_ns is not null then t.utc_ns when t.counted_ns < a.utc_ns then a.utc_ns
            when t.counted_ns > b.utc_ns then b.utc_ns else t.counted_ns end
            as at_ns,
        case when t.gap_s >= 10 or t.step_s_source <> 'printed' then t.gap_s / t.gap_steps
            else t.step_s end
            as pace_s
    from counted as t
    asof left join stamped as a on a.file_id = t.file_id and a.line_no <= t.line_no
    asof left join stamped as b on b.file_id = t.file_id and b.line_no >= t.line_no
),
placed as (
    select
        *,
        median(pace_s)
            over (partition by failure_id, rank, pattern order by at_ns, file_id, line_no,
                step rows between 1 preceding and 1 following)
                as smooth_s,
        row_number()
            over (partition by failure_id, rank, pattern order by at_ns, file_id, line_no, step)
                as line_rank,
        (12 * (at_ns - min(at_ns) over same_rank)
            / nullif(max(at_ns) over same_rank - min(at_ns) over same_rank, 0))
            as span_no
    from line
    where pace_s is not null and at_ns is not null
    window same_rank as (partition by failure_id, rank, pattern)
),
span as (
    select failure_id, rank, pattern, floor(span_no) as span_no, median(pace_s) as pace_s,
        median(data_s) as data_s, count(*) as line_count
    from placed
    where span_no < 6 and line_rank > 1
    group by failure_id, rank, pattern, floor(span_no)
),
usual as (
    select failure_id, rank, pattern, median(pace_s) as usual_s, median(data_s) as usual_data_s,
        sum(line_count) as usual_count
    from span
    group by failure_id, rank, pattern
)
select
    p.failure_id, p.job_id, p.attempt, p.rank, p.pattern, p.step, p.at_ns, p.is_exact, p.pace_s,
    p.data_s,
    u.usual_s, u.usual_data_s, u.usual_count,
    p.smooth_s > (select value from threshold where name = 'step_slow_factor') * u.usual_s
        as is_slow,
    p.stall_ns, p.file_id, p.line_no, p.text
from placed as p
join usual as u on u.failure_id = p.failure_id and u.rank is not distinct from p.rank
    and u.pattern = p.pattern
