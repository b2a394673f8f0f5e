-- The clock of a job as a whole, told by names that AIStore says in the same second, else by its
-- first batch, else by the end of its load.
-- grain: one row a job of which any of them tells
-- reads: clock_job_name, clock_job_start, clock_job_load, zone_choice
-- stored: yes
-- note: offset_ns is what is to be subtracted. One name alone, which may be the same by chance,
-- note: tells nothing where the first batch tells another offset; names of two clusters must agree.
create or replace view clock_job as
with named as (
    select n.job_id, min(-n.offset_ns) as offset_ns, max(n.name_count) as name_count
    from clock_job_name as n
    join zone_choice as z on z.zone_ns = -n.offset_ns and z.is_in_use
    left join clock_job_start as j on j.job_id = n.job_id
    where not n.is_known and (n.name_count > 1 or coalesce(j.offset_ns = -n.offset_ns, true))
    group by n.job_id
    having min(n.offset_ns) = max(n.offset_ns)
),
every as (
    select
        1 as place,
        job_id,
        offset_ns,
        case when name_count > 1 then 0.9 else 0.8 end as confidence,
        case when name_count > 1 then name_count::varchar || ' names' else 'a name' end
            || ' that both say in the same second' as text
    from named
    union all
    select 2, job_id, offset_ns, case when offset_ns = 0 then 0.8 else 0.7 end, text
    from clock_job_start
    union all
    select 3, job_id, offset_ns, 0.65,
        'the targets stopped serving it between its last step and its end'
    from clock_job_load
)
select job_id, offset_ns, confidence, text
from every
qualify row_number() over (partition by job_id order by place) = 1
