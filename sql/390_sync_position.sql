-- What the ranks of a failure waited in by name, how many collectives a step has, and whether a
-- rank that is ahead is so by less.
-- grain: one row a failure with a stuck collective
-- reads: failure_case, rank_position, step_time, job, sync_point
-- public: yes
-- case: kept
-- note: Collectives a step: the sequence number at which the job stood, by the steps done in the
-- note: attempt. Steps are printed every few steps, so the number is a span, told where it holds
-- note: one whole number or is narrow. Only the default process group counts every step alike.
create or replace view sync_position as
with done as (
    select
        f.failure_id, max(s.step) - min(s.step) + 1 as step_count, max(s.step) as last_step,
        coalesce(mode(s.gap_steps), 1) as stride,
        arg_max(s.file_id, (s.step, s.line_no)) as file_id,
        arg_max(s.line_no, (s.step, s.line_no)) as line_no
    from failure_case as f
    join step_time as s on s.job_id = f.job_id and s.attempt = f.attempt
        and (s.epoch is null or s.pattern in ('step_nemo', 'step_deepspeed'))
    where f.seq_num is not null and f.guid = '0'
    group by f.failure_id
    having count(*) >= 3 and max(s.step) - min(s.step) >= 20
),
pace as (
    select *, f.seq_num / (d.step_count + d.stride) as low, f.seq_num / d.step_count as high
    from done as d
    join (select failure_id as id, seq_num from failure_case) as f on f.id = d.failure_id
),
told as (
    select failure_id, last_step, file_id, line_no,
        case when round(low + 0.49) <= high then round(low + 0.49)
            when high - low < 0.15 * high then round((low + high) / 2, 1) end
            as per_step
    from pace
    where low >= 0.8
),
reached as (
    select job_id, attempt, rank, last_enqueued,
        median(last_enqueued) over (partition by job_id, attempt) as usual,
        count(*) over (partition by job_id, attempt) as rank_count
    from rank_position
    where last_enqueued is not null
),
ahead as (
    select job_id, attempt, arg_max(rank, last_enqueued) as rank,
        max(last_enqueued - usual)::bigint as ahead_by
    from reached
    where rank_count > 2
    group by job_id, attempt
    having max(last_enqueued - usual) >= 1 and count(*) filter (where last_enqueued > usual) = 1
),
named as (
    select f.failure_id, p.sync_point, p.words
    from failure_case as f
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    join sync_point as p on p.operation = ltrim(replace(f.op_type, '_', ''), '_')
        and coalesce(f.numel_in, 17)
            between coalesce(p.numel_from, 0) and coalesce(p.numel_to, 9e18)
        and (p.framework is null or p.framework = j.framework)
    qualify row_number() over (partition by f.failure_id order by p.place) = 1
)
select
    f.failure_id, n.sync_point, t.last_step, t.per_step::double as collectives_per_step,
    a.rank as ahead_rank, a.ahead_by, a.ahead_by <= t.per_step as is_within_step,
    concat_ws('; ',
        'what the ranks waited in is probably ' || n.words,
        'a step has about '
            || case when t.per_step = round(t.per_step) then t.per_step::bigint::varchar
                else t.per_step::varchar end
            || ' collectives (number ' || f.seq_num::varchar || ' by step ' || t.last_step::varchar
            || ')',
        'rank ' || a.rank::varchar || ' is ahead of the others by ' || a.ahead_by::varchar || case
            when t.per_step is null then ', and how many a step has is not known'
            when a.ahead_by <= t.per_step
                and f.op_type like '%BROADCAST%'
                    then ', which fits into one step: whoever sends a broadcast does not wait for '
                        'the others'
            when a.ahead_by <= t.per_step then ', less than one step'
            else ', more than one step has: it left out a wait or made calls that the others did '
                'not' end
    ) as statement,
    coalesce(t.file_id, f.file_id) as file_id, coalesce(t.line_no, f.line_no) as line_no
from failure_case as f
left join named as n on n.failure_id = f.failure_id
left join told as t on t.failure_id = f.failure_id
left join ahead as a on a.job_id = f.job_id and a.attempt = f.attempt
where n.sync_point is not null or t.per_step is not null or a.rank is not null
