-- Refusals of a node at the pace at which one client repeats a request: each pause twice as long as
-- the one before.
-- grain: one row a series of a node and bucket
-- reads: ais_event
-- stored: yes
-- note: urllib3 repeats what was answered with 429 or 503 at once and then after pauses that double
-- note: (AIStore's SDK 2.0: 6, 12, 24, 48 s), and the client prints nothing of it. Three such
-- note: pauses in a row, each 1 s or longer, are no chance; repeats within a second are one moment.
create or replace view client_backoff as
with refusal as (
    select cluster, node_id, bucket, utc_ns, file_id, line_no,
        utc_ns - lag(utc_ns) over same > 1000000000 as is_later
    from ais_event
    where node_effect = 'rejecting'
    window same as (partition by cluster, node_id, bucket order by utc_ns, file_id, line_no)
),
moment as (
    select cluster, node_id, bucket, moment_no, min(utc_ns) as utc_ns,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from (select *,
        sum(case when is_later then 1 else 0 end)
            over (partition by cluster, node_id, bucket order by utc_ns, file_id, line_no)
                as moment_no
        from refusal)
    group by cluster, node_id, bucket, moment_no
),
paused as (
    select *, (lead(utc_ns) over same - utc_ns) / 1e9 as pause_s,
        (utc_ns - lag(utc_ns) over same) / 1e9 as before_s
    from moment
    window same as (partition by cluster, node_id, bucket order by utc_ns)
),
numbered as (
    select *,
        sum(case when pause_s between 1.9 * before_s and 2.1 * before_s then 0 else 1 end)
            over (partition by cluster, node_id, bucket order by utc_ns) as series_no
    from paused
    where pause_s is not null
)
select
    cluster,
    node_id,
    bucket,
    min(utc_ns) as started_ns,
    max(utc_ns) + (max(pause_s) * 1e9)::bigint as ended_ns,
    max(pause_s) as last_s,
    arg_min(file_id, utc_ns) as file_id,
    arg_min(line_no, utc_ns) as line_no
from numbered
group by cluster, node_id, bucket, series_no
having count(*) >= 3 and min(pause_s) >= 1
