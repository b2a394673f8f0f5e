-- A job that became slow by its own doing, as its own lines tell: a slow device, or steps that wait for no data on any rank.
-- grain: one row a failure whose job slowed so
-- reads: step_slowdown, failure_case, job, worker_event
-- stored: yes
-- empty without: step_slowdown
-- note: Straggler detection measures kernels, in which storage has no part; the ranks it names from the last fast step on are the slow ones, rank is null where they are several. Who waits for data is told by a rank's own seconds only, as the others wait for it in a collective and print short ones: so every rank must print them. Neither counts where one rank's steps wait for data.
create or replace view own_slowness as
with slowed as (
    select
        s.failure_id, f.job_id, f.attempt, any_value(f.stall_ns) as stall_ns, min(s.until_ns) as until_ns, any_value(j.world_size) as world_size,
        count(distinct s.rank) filter (where s.slow_data_s is not null) as told_count,
        arg_min(s.file_id, s.place) as file_id, arg_min(s.line_no, s.place) as line_no
    from step_slowdown as s
    join failure_case as f on f.failure_id = s.failure_id
    left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    group by s.failure_id, f.job_id, f.attempt
    having not bool_or(s.is_data_wait)
),
straggler as (
    select w.failure_id, unnest(string_split(replace(json_extract_string(e.capture, '$.slow_ranks'), ' ', ''), ','))::integer as rank, e.utc_ns, e.file_id, e.line_no
    from slowed as w
    join worker_event as e on e.job_id = w.job_id and e.attempt = w.attempt and e.pattern = 'straggler_detected' and e.utc_ns between w.until_ns and w.stall_ns
)
select
    failure_id,
    'device' as told_by,
    case when count(distinct rank) = 1 then min(rank) end as rank,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    'straggler detection names rank ' || string_agg(distinct rank::varchar, ', ' order by rank::varchar) || ', whose device had become slow' as words
from straggler
group by failure_id
union all
select
    failure_id, 'every_rank', null, file_id, line_no,
    'none of its ' || world_size::varchar || ' ranks waited for data, by their own lines'
from slowed
where told_count >= world_size and failure_id not in (select failure_id from straggler)
