-- A log whose clock is matched with other logs, of which none tells UTC: all of them are taken as
-- UTC together.
-- grain: one row a log
-- reads: clock, clock_absolute, ais_file, worker_file, job_storage
-- stored: yes
-- note: What such logs say of each other holds, order and spans; their moments may all be off by
-- note: the same hours. A log tells UTC where it prints it, where the user gave its zone, or where
-- note: a line ties it on its own (clock_absolute); it tells it for the whole cluster and for the
-- note: jobs beside it.
create or replace view untold_clock as
with told as (
    select file_id from clock where method in ('utc_marker', 'given')
    union
    select file_id from clock_absolute
),
member as (
    select 'cluster ' || cluster as name, file_id from ais_file
    union all
    select 'job ' || job_id, file_id from worker_file
),
beside as (
    select name, name as other from (select distinct name from member)
    union
    select 'job ' || job_id, 'cluster ' || cluster from job_storage where cluster is not null
    union
    select 'cluster ' || cluster, 'job ' || job_id from job_storage where cluster is not null
)
select m.file_id
from member as m
join clock as c on c.file_id = m.file_id and c.method = 'anchor'
where not exists (
    select 1
    from beside as b
    join member as o on o.name = b.other
    join told as t on t.file_id = o.file_id
    where b.name = m.name
)
