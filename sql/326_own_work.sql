-- A rank that goes on counting at work of its own while others wait in a collective.
-- grain: one row a rank of a failed attempt
-- reads: rank_word, clock, stuck_collective, failure_signal
-- case: yes
-- note: Two of its last words or more are the same but for whole numbers, of which one grows and none shrinks, and stand in the hang, as far as they have a date (1300 of 6000 rows compared, then 1400). Words of reading, writing, waiting or of a store may mean a store, and count not; neither do those of steps, nor those of a rank that itself timed out.
create or replace view own_work as
with said as (
    select
        t.job_id, t.attempt, t.rank, t.file_id, t.line_no, t.text,
        t.local_ns - case when t.zone_offset_s is null then c.shift_ns else 0 end as utc_ns,
        regexp_replace(t.line, '\d+\.\d+', '#', 'g') as line
    from rank_word as t
    join clock as c on c.file_id = t.file_id
    where t.activity is null
        and not regexp_matches(t.text, '(?i)\b(reads?|reading|load\w*|fetch\w*|download\w*|shards?|objects?|buckets?|get|got|stream\w*|open\w*|wait\w*|retr\w+|receiv\w*|cop(y|ied)\w*|cach\w+|stag\w+|list\w*|upload\w*|writ\w+|sav\w+|put|ais|s3|sync\w*|prefetch\w*|steps?|epochs?|iter\w*)\b|://')
),
counted as (
    select
        s.*,
        regexp_replace(line, '\d+', '#', 'g') as shape,
        regexp_extract_all(line, '\d+')::hugeint[] as numbers,
        lag(numbers) over (partition by s.file_id, s.attempt, s.rank, shape order by s.line_no) as before
    from said as s
)
select
    s.job_id,
    s.attempt,
    s.rank,
    arg_max(s.file_id, (s.line_no, -s.file_id)) as file_id,
    max(s.line_no) as line_no,
    arg_max(s.text, (s.line_no, -s.file_id)) as text
from counted as s
join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt and coalesce(s.utc_ns >= k.hang_start_ns - 1000000000, true)
left join failure_signal as o on o.job_id = s.job_id and o.attempt = s.attempt and o.rank = s.rank and o.signal in ('timeout', 'crash')
where o.job_id is null and len(s.numbers) = len(s.before) and len(list_filter(list_zip(s.numbers, s.before), lambda p: p[1] > p[2])) > 0 and len(list_filter(list_zip(s.numbers, s.before), lambda p: p[1] < p[2])) = 0
group by s.job_id, s.attempt, s.rank
