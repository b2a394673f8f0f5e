-- A file that a rank found on its own host, so that nothing was fetched for it, as the rank said.
-- grain: one row a line that says so and name of a file in it
-- reads: worker_event
-- stored: yes
-- note: name is the file's without its folders. What is wrong with such a copy was so when it was written, by whatever job.
create or replace view local_copy as
select
    job_id, attempt, rank, utc_ns,
    unnest(list_distinct(regexp_extract_all(text, '[\w@=+-][\w.@=+-]*\.[a-z]\w{1,7}\b'))) as name,
    file_id, line_no
from worker_event
where pattern = 'local_copy_used' and rank is not null
