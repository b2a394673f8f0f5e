-- What the log of a rank says of its counters in a process group, beside what its Flight Recorder
-- dump says.
-- grain: one row a rank and group of which both say it
-- reads: worker_event, fr_position
-- stored: yes
-- note: Counters only grow, so the larger one was written later and is believed.
create or replace view fr_witness as
with line as (
    select
        job_id, attempt, rank,
        coalesce(nullif(regexp_extract(process_group, '^([^( ]+)', 1), ''), '0') as guid,
        max(last_enqueued) as last_enqueued,
        arg_max(file_id, (last_enqueued, -file_id, -line_no)) as file_id,
        arg_max(line_no, (last_enqueued, -file_id, -line_no)) as line_no
    from worker_event
    where last_enqueued is not null and rank is not null
        and (process_group is not null or coalesce(pattern, '') not like 'nccl_dump_signal%')
    group by all
)
select
    l.job_id, l.attempt, p.group_key, l.rank, l.last_enqueued as log_enqueued,
    p.last_enqueued as dump_enqueued,
    l.file_id, l.line_no, p.place_no
from line as l
join fr_position as p on p.job_id = l.job_id and p.rank = l.rank and p.has_dump
    and regexp_extract(p.group_key, '^([^ ]+)', 1) = l.guid and p.last_enqueued is not null
