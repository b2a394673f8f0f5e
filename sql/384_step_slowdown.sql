-- A job, or a rank of it, whose steps took longer and longer before it failed, and since when.
-- grain: one row a failure and rank that slowed (rank null: lines that name no rank)
-- reads: step_pace, threshold
-- public: yes
-- case: kept
-- note: Slow is more than step_slow_factor times the usual, without a fast line until the end, in
-- note: step_slow_lines lines or more. is_first: of several ranks whose steps are available all
-- note: others were still fast when this one was slow already; where ranks wait for each other they
-- note: all slow, so who waits for data (data_s) tells more.
create or replace view step_slowdown as
with fast as (
    select failure_id, rank, pattern, coalesce(max(at_ns) filter (where not is_slow), 0) as until_ns
    from step_pace
    group by failure_id, rank, pattern
),
slow as (
    select
        p.failure_id, p.rank, p.pattern, f.until_ns, min(p.at_ns) as since_ns,
        max(p.at_ns) as last_ns, any_value(p.stall_ns) as stall_ns,
        bool_and(p.is_exact) as is_exact, count(*) as slow_count,
        any_value(p.usual_s) as usual_s, median(p.pace_s) as slow_s,
        any_value(p.usual_data_s) as usual_data_s, median(p.data_s) as slow_data_s,
        arg_min(p.file_id, (p.at_ns, p.line_no)) as file_id,
        arg_min(p.line_no, (p.at_ns, p.line_no)) as line_no,
        arg_min(p.text, (p.at_ns, p.line_no)) as text
    from step_pace as p
    join fast as f on f.failure_id = p.failure_id and f.rank is not distinct from p.rank
        and f.pattern = p.pattern and p.at_ns > f.until_ns
    where p.is_slow
        and p.usual_count >= (select value from threshold where name = 'step_slow_lines')
    group by p.failure_id, p.rank, p.pattern, f.until_ns
    having count(*) >= (select value from threshold where name = 'step_slow_lines')
        and median(p.pace_s) > (select value from threshold where name = 'step_slow_factor')
            * any_value(p.usual_s)
),
chosen as (
    select * from slow
    qualify row_number() over (partition by failure_id, rank order by slow_count desc, pattern) = 1
),
compared as (
    select
        c.*,
        count(*) over (partition by c.failure_id) as slow_rank_count,
        c.rank is not null
            and c.since_ns
                < (select min(f.until_ns) from fast as f
                    where f.failure_id = c.failure_id and f.rank <> c.rank)
                as is_first,
        coalesce(c.slow_data_s - coalesce(c.usual_data_s, 0) > (c.slow_s - c.usual_s) / 2, false)
            as is_data_wait
    from chosen as c
),
told as (
    select
        *,
        row_number()
            over (partition by failure_id order by is_data_wait desc, is_first desc, since_ns, rank)
                as place,
        case when slow_s < 10 then round(slow_s, 2) else round(slow_s) end as shown_slow,
        case when usual_s < 10 then round(usual_s, 2) else round(usual_s) end as shown_usual,
        (coalesce(stall_ns, last_ns) - since_ns) / 1e9 as slow_span_s
    from compared
)
select
    failure_id,
    rank,
    make_timestamp_ns(since_ns) as slow_since_at,
    is_exact,
    round(usual_s, 4) as usual_step_s,
    round(slow_s, 4) as slow_step_s,
    round(usual_data_s, 4) as usual_data_s,
    round(slow_data_s, 4) as slow_data_s,
    round(slow_span_s, 1) as slow_span_s,
    slow_rank_count,
    is_first,
    place,
    coalesce('rank ' || rank::varchar || ': ', '') || 'steps took ' || shown_usual::varchar
        || ' s until '
        || case when is_exact then strftime(make_timestamp_ns(until_ns)::timestamp, '%H:%M:%S')
            else 'then' end
        || ', ' || shown_slow::varchar || ' s in the last '
            || case when slow_span_s < 120 then round(slow_span_s)::integer::varchar || ' s'
                else round(slow_span_s / 60)::integer::varchar || ' min' end
            || ' before the failure'
        || case
            when is_data_wait then ', mostly waiting for data ('
                || round(coalesce(usual_data_s, 0), 2)::varchar || ' → '
                || round(slow_data_s, 2)::varchar || ' s)'
            else '' end
        || case when is_first then '; it slowed before the other ranks' else '' end as statement,
    is_data_wait,
    pattern,
    until_ns,
    since_ns,
    file_id,
    line_no,
    text
from told
