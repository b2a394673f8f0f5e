-- Refusals of a node at the pace at which one client repeats a request: each pause twice as long as the one before.
-- grain: one row a series of a node
-- reads: ais_event
-- stored: yes
-- empty without: ais_event where node_effect = 'rejecting'
-- note: urllib3 repeats what was answered with 429 or 503 at once and then after pauses that double (AIStore's SDK 2.0: 6, 12, 24, 48 s), and the client prints nothing of it. Three such pauses in a row, each 1 s or longer, are no chance; repeats within a second are one moment. Where more clients than one are refused at once their moments mix, and no series is seen.
create or replace view client_backoff as
with refusal as (
    select cluster, node_id, utc_ns, bucket, file_id, line_no, utc_ns - lag(utc_ns) over same > 1000000000 as is_later
    from ais_event
    where node_effect = 'rejecting'
    window same as (partition by cluster, node_id order by utc_ns, file_id, line_no)
),
moment as (
    select cluster, node_id, moment_no, min(utc_ns) as utc_ns, any_value(bucket) as bucket, arg_min(file_id, (utc_ns, file_id, line_no)) as file_id, arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from (select *, sum(case when is_later then 1 else 0 end) over (partition by cluster, node_id order by utc_ns, file_id, line_no) as moment_no from refusal)
    group by cluster, node_id, moment_no
),
paused as (
    select
        *,
        (lead(utc_ns) over same - utc_ns) / 1e9 as first_s,
        (lead(utc_ns, 2) over same - lead(utc_ns) over same) / 1e9 as second_s,
        (lead(utc_ns, 3) over same - lead(utc_ns, 2) over same) / 1e9 as third_s,
        lead(utc_ns, 3) over same as ended_ns
    from moment
    window same as (partition by cluster, node_id order by utc_ns)
)
select
    cluster,
    node_id,
    utc_ns as started_ns,
    ended_ns,
    bucket,
    first_s,
    file_id,
    line_no
from paused
where first_s >= 1 and second_s / first_s between 1.9 and 2.1 and third_s / second_s between 1.9 and 2.1
