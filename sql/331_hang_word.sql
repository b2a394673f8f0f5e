-- What a rank said while the others waited for it, in a line that names no rank.
-- grain: one row a line
-- reads: worker_tail, worker_file, clock, failed_rank, rank_position, stuck_collective, threshold
-- case: yes
-- note: Who waits in a collective says nothing of its own work, but its loaders and other threads
-- note: may.
create or replace view hang_word as
with said as (
    select
        w.job_id, w.path_attempt + t.attempt_no as attempt, t.file_id, t.line_no, t.activity,
        t.text,
        t.local_ns - case when t.zone_offset_s is null then c.shift_ns else 0 end as utc_ns,
        t.activity = 'storage_wait' and regexp_matches(t.text, '\s[\w.-]+ [\w.-]+\[\d+\]: ')
            and (utc_ns is not null or t.line_no > t.last_no) as is_daemon,
        try_cast(
            regexp_extract(t.text,
                '\b(?:after|for|since) (\d+(?:\.\d+)?) ?(?:s|sec|secs|seconds)\b', 1)
            as double)
            * 1e9
            as age_ns,
        try_cast(
            last_value(
                nullif(
                    regexp_extract(t.text,
                        '(?i)\brank[ =:#]?(\d+)\b.{0,60}\b(?:no (?:step|progress|heartbeat)|stuck'
                            '|hung|hang|stalled|silent)\b',
                        1),
                    '') ignore nulls)
            over (partition by t.file_id, t.attempt_no
                order by t.line_no range between 6 preceding and 1 preceding)
                as integer)
            as watched_rank
    from (select *,
        max(line_no) filter (where rank is not null or local_rank is not null)
            over (partition by file_id, attempt_no) as last_no
        from worker_tail)
        as t
    join worker_file as w on w.file_id = t.file_id
    join clock as c on c.file_id = t.file_id
    where t.rank is null and t.local_rank is null
),
waiting as (
    select job_id, attempt, rank from rank_position where is_waiting or is_held
),
sole as (
    select job_id, attempt, min(file_id) as file_id from failed_rank group by job_id, attempt
        having count(distinct file_id) = 1
),
free as (
    select r.job_id, r.attempt, coalesce(r.file_id, o.file_id) as file_id,
        min(r.rank) filter (where w.rank is null) as rank
    from failed_rank as r
    left join sole as o on o.job_id = r.job_id and o.attempt = r.attempt
    left join waiting as w on w.job_id = r.job_id and w.attempt = r.attempt and w.rank = r.rank
    group by r.job_id, r.attempt, coalesce(r.file_id, o.file_id)
    having count(*) filter (where w.rank is null) = 1
),
home as (
    select r.job_id, r.attempt, r.host, min(r.rank) filter (where w.rank is null) as rank
    from failed_rank as r
    left join waiting as w on w.job_id = r.job_id and w.attempt = r.attempt and w.rank = r.rank
    where r.host is not null
    group by r.job_id, r.attempt, r.host
    having count(*) filter (where w.rank is null) = 1
)
select
    s.job_id, s.attempt, coalesce(f.rank, o.rank, v.rank) as rank, s.file_id, s.line_no,
    case when s.is_daemon then 'daemon' when f.rank is not null then 'age' else 'watcher' end
        as told_by
from said as s
join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
    and coalesce(s.utc_ns between k.hang_start_ns and k.spoke_ns, s.is_daemon)
join threshold as p on p.name = 'hang_word_slack_s'
join threshold as h on h.name = 'hang_word_share'
left join free as f on f.job_id = s.job_id and f.attempt = s.attempt and f.file_id = s.file_id
    and not s.is_daemon
    and s.utc_ns - s.age_ns between k.hang_start_ns - p.value * 1e9 and k.hang_start_ns + 2e9
    and s.age_ns >= h.value * (k.spoke_ns - k.hang_start_ns)
left join home as o on o.job_id = s.job_id and o.attempt = s.attempt and s.is_daemon
    and split_part(o.host, '.', 1) = regexp_extract(s.text, '\s([\w-]+)[\w.-]* [\w.-]+\[\d+\]: ', 1)
    and coalesce(s.utc_ns >= (k.hang_start_ns + k.spoke_ns) / 2, true)
left join failed_rank as v on v.job_id = s.job_id and v.attempt = s.attempt
    and v.rank = s.watched_rank
    and not exists (from waiting as w
        where w.job_id = v.job_id and w.attempt = v.attempt and w.rank = v.rank)
where s.activity is not null and coalesce(f.rank, o.rank, v.rank) is not null
