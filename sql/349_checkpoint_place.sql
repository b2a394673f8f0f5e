-- Where the checkpoints of a failed attempt go, as far as the words of its ranks tell: to a store,
-- or to a path of a file system.
-- grain: one row an attempt whose words name a place
-- reads: worker_tail, worker_file, worker_event, failed_attempt
-- case: yes
-- note: goes_to: store is an address of AIStore's API, or of S3, which it serves, in the last word
-- note: that names a place; path is a mounted file system, where no word names any address. One
-- note: rank mostly names the place for all.
create or replace view checkpoint_place as
with word as (
    select
        w.job_id, w.path_attempt + t.attempt_no as attempt, true as is_last_word,
        t.local_ns as said_ns, t.file_id, t.line_no, t.text,
        regexp_matches(t.text, '(ais|s3|msc)://|/v1/objects|/s3/') as is_store,
        regexp_matches(t.text, '(ais|s3|gs|msc)://|https?://|/v1/objects') as is_address,
        regexp_matches(t.text, '(^|[ =''"])/[A-Za-z][\w.-]*/') as is_path
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    where t.activity = 'checkpoint'
    union all
    select job_id, attempt, false, utc_ns, file_id, line_no, text, true, true, false
    from worker_event
    where pattern = 'checkpoint_store'
),
last_place as (
    select *,
        bool_or(is_address and is_last_word) over (partition by job_id, attempt) as has_address
    from word
    where is_store or is_address or is_path
    qualify row_number()
        over (partition by job_id, attempt order by is_last_word desc, coalesce(said_ns, 0) desc,
            file_id desc, line_no desc)
            = 1
)
select
    p.job_id,
    p.attempt,
    case when p.is_store then 'store' else 'path' end as goes_to,
    p.file_id,
    p.line_no,
    p.text
from last_place as p
join failed_attempt as f on f.job_id = p.job_id and f.attempt = p.attempt
where p.is_store or not p.has_address
