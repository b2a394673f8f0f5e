-- By how much the year of a worker log is off that only the file's own time tells.
-- grain: one row a worker log without a year, of a job that another log dates
-- reads: worker_file
-- stored: yes
-- note: It is the year that brings the log nearest to the latest date of its job.
create or replace view clock_year as
select f.file_id, make_timestamp(f.first_ns // 1000) as first_at,
    first_at - to_years(round((f.first_ns - d.first_ns) / 31556952e9)::integer) as true_at,
    1000 * (epoch_us(first_at) - epoch_us(true_at)) as shift_ns
from worker_file as f
join (select job_id, max(first_ns) as first_ns from worker_file
    where date_method in ('stamp', 'given') or is_utc or kind = 'flight_recorder'
    group by job_id) as d on d.job_id = f.job_id
where f.kind = 'worker_log' and f.date_method = 'mtime' and not f.is_utc
