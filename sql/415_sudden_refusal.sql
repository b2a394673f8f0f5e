-- AIStore turned away everybody who asked, since a moment in the middle of a job that failed for it: it demands tokens, or finds all signatures invalid.
-- grain: one row a failure
-- reads: failure_lead, rank_request, ais_event
-- stored: yes
-- empty without: failure_lead
-- empty without: ais_event where severity = 'E' and regexp_matches(text, 'token required|token signature is invalid')
-- note: Somebody has changed its settings then. Requests for more than one bucket must have been refused so, one of them for a bucket that the rank did not ask for, and none before the job had begun (a minute before, where it printed no progress).
create or replace view sudden_refusal as
with refused as (
    select cluster, utc_ns, file_id, line_no, text, nullif(regexp_extract(text, '/v1/(?:objects|buckets|ml/moss)/([^/?\s]+)', 1), '') as bucket
    from ais_event
    where severity = 'E' and regexp_matches(text, 'token required|token signature is invalid')
),
kind as (
    select *
    from (values
        ('token required', 'tokens_demanded', 'since the job began AIStore demands tokens, of others too'),
        ('token signature is invalid', 'tokens_refused', 'since the job began AIStore finds the signatures of others'' tokens invalid too')
    ) as k(words, kind, says)
),
asked as (
    select failure_id, string_agg(concat_ws(' ', bucket, url, text), ' ') as words
    from rank_request
    group by failure_id
)
select
    f.failure_id, any_value(k.kind) as kind, any_value(k.says) as says,
    arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no)) as file_id,
    arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no)) as line_no
from failure_lead as f
join kind as k on contains(coalesce(f.crash_message, f.alike_message), k.words)
join refused as e on e.cluster = f.cluster and e.utc_ns <= coalesce(f.crash_latest_ns, f.stall_ns) + 60000000000 and contains(e.text, k.words)
left join asked as r on r.failure_id = f.failure_id
group by f.failure_id, f.started_ns, f.progress_ns
having count(distinct e.bucket) > 1 and bool_or(not contains(coalesce(r.words, ''), e.bucket))
    and min(e.utc_ns) > f.started_ns + case when f.progress_ns is null then 60000000000 else 0 end
