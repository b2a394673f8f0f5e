-- What a rank itself said of reading data late in the hang in which the others waited for it.
-- grain: one row a line
-- reads: worker_tail, worker_file, clock, stuck_collective, threshold
-- case: yes
-- note: A line that names its rank, unlike those of hang_word. Of a line from early in the hang (hang_word_share) it is open whether the rank got over what it tells; one that comes later tells what the others wait for, as far as it is of the rank that holds them up. A queue that is full or a consumer that does not come is no reading.
create or replace view reading_word as
select
    s.job_id,
    s.attempt,
    s.file_id,
    s.line_no
from (
    select
        w.job_id, w.path_attempt + t.attempt_no as attempt, t.file_id, t.line_no,
        t.local_ns - case when t.zone_offset_s is null then c.shift_ns else 0 end as utc_ns
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    join clock as c on c.file_id = t.file_id
    where t.activity in ('storage_wait', 'data_loading') and coalesce(t.rank, t.local_rank) is not null and t.local_ns is not null
        and not regexp_matches(coalesce(t.text, ''), '(?i)\b(is )?(full|ready|idle)\b|training loop|consumer')
        and coalesce(regexp_extract(t.text, '\b(\d+) ?(?:of|/) ?\d+', 1) <> regexp_extract(t.text, '\b\d+ ?(?:of|/) ?(\d+)', 1) or regexp_extract(t.text, '\b(\d+) ?(?:of|/) ?\d+', 1) = '', true)
) as s
join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
join threshold as p on p.name = 'hang_word_share'
where s.utc_ns between k.hang_start_ns + p.value * (k.spoke_ns - k.hang_start_ns) and k.spoke_ns
