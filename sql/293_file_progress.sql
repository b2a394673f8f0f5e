-- The last step that a file of a job attempt reports.
-- grain: one row a file and job attempt with stamped progress lines
-- reads: progress_line, worker_line, worker_file, clock
-- stored: yes
-- note: All lines of a file share its clock, so that what stands before it by minutes was before
-- note: it, whatever the zone.
create or replace view file_progress as
select
    f.job_id,
    f.path_attempt + coalesce(w.attempt_no, 0) as attempt,
    s.file_id,
    max(s.local_ns - case when s.zone_offset_s is null then k.shift_ns else 0 end) as step_ns,
    max(s.line_no) as line_no
from progress_line as s
join worker_file as f on f.file_id = s.file_id
join clock as k on k.file_id = s.file_id
asof
    left join (select file_id, line_no, attempt_no from worker_line where attempt_no > 0) as w
        on w.file_id = s.file_id
        and w.line_no <= s.line_no
where s.local_ns is not null and s.step is not null
group by f.job_id, f.path_attempt + coalesce(w.attempt_no, 0), s.file_id
