-- A failed attempt whose checkpoints go to a mounted file system and not to AIStore, as far as the last words of its ranks tell.
-- grain: one row an attempt
-- reads: worker_tail, worker_file, failed_attempt
-- stored: yes
-- empty without: failed_attempt
-- note: One rank mostly names the folder for all. An attempt of which any word about checkpoints names an address of a store is none.
create or replace view checkpoint_place as
with word as (
    select
        w.job_id, w.path_attempt + t.attempt_no as attempt, t.file_id, t.line_no, t.text,
        regexp_matches(t.text, '(^|[ =''"])/[A-Za-z][\w.-]*/') as is_path,
        regexp_matches(t.text, '(ais|s3|gs|msc)://|https?://|/v1/objects') as is_store
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    where t.activity = 'checkpoint'
)
select
    f.job_id,
    f.attempt,
    min(w.file_id) filter (where w.is_path) as file_id,
    arg_min(w.line_no, (w.file_id, w.line_no)) filter (where w.is_path) as line_no,
    arg_min(w.text, (w.file_id, w.line_no)) filter (where w.is_path) as text
from failed_attempt as f
join word as w on w.job_id = f.job_id and w.attempt = f.attempt
group by f.job_id, f.attempt
having bool_or(w.is_path) and not bool_or(w.is_store)
