-- AIStore turned away everybody who asked, since a moment in the middle of a job that failed for it: it demands tokens, or finds all signatures invalid.
-- grain: one row a failure
-- reads: failure_lead, rank_request, ais_event
-- stored: yes
-- empty without: failure_lead
-- empty without: ais_event where severity = 'E' and regexp_matches(text, 'token required|token signature is invalid')
-- note: Somebody has changed its settings then. Requests for more than one bucket must have been refused so, one of them for a bucket that the rank did not ask for; or the node that refused first had got, or as the primary sent, a new configuration within a minute before (config_line_no); or signatures of the job's own tokens were found invalid again and again (refused_count), which had been taken before: a token does not lose its signature, the key that it is verified with is another. None was refused before the job had begun (a minute before, where it printed no progress).
create or replace view sudden_refusal as
with refused as (
    select cluster, node_id, utc_ns, file_id, line_no, text, nullif(regexp_extract(text, '/v1/(?:objects|buckets|ml/moss)/([^/?\s]+)', 1), '') as bucket
    from ais_event
    where severity = 'E' and regexp_matches(text, 'token required|token signature is invalid')
),
kind as (
    select *
    from (values
        ('token required', 'tokens_demanded', 'demands tokens'),
        ('token signature is invalid', 'tokens_refused', 'finds the signatures of tokens invalid')
    ) as k(words, kind, says)
),
asked as (
    select failure_id, string_agg(concat_ws(' ', bucket, url, text), ' ') as words
    from rank_request
    group by failure_id
),
since as (
    select
        f.failure_id, any_value(k.kind) as kind, any_value(k.says) as says, any_value(f.cluster) as cluster,
        count(distinct (e.node_id, e.utc_ns)) as refused_count,
        count(distinct e.bucket) > 1 and bool_or(not contains(coalesce(r.words, ''), e.bucket)) as is_of_others,
        arg_min(e.node_id, (e.utc_ns, e.file_id, e.line_no)) as node_id, min(e.utc_ns) as utc_ns,
        arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no)) as file_id, arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no)) as line_no
    from failure_lead as f
    join kind as k on contains(coalesce(f.crash_message, f.alike_message), k.words)
    join refused as e on e.cluster = f.cluster and e.utc_ns <= coalesce(f.crash_latest_ns, f.stall_ns) + 60000000000 and contains(e.text, k.words)
    left join asked as r on r.failure_id = f.failure_id
    group by f.failure_id, f.started_ns, f.progress_ns
    having min(e.utc_ns) > f.started_ns + case when f.progress_ns is null then 60000000000 else 0 end
)
select
    s.failure_id, s.kind,
    case when s.is_of_others then 'since the job began AIStore ' || s.says || ', of others too' when c.file_id is null then 'in the middle of the job AIStore ' || s.says || ', ' || s.refused_count::varchar || ' times, that it had taken before' else 'AIStore ' || s.says || ' since it got a new configuration' || case when s.utc_ns - c.utc_ns < 5000000000 then ', right before the first was refused' else ', ' || round((s.utc_ns - c.utc_ns) / 1e9)::integer::varchar || ' s before the first was refused' end end as says,
    s.file_id,
    s.line_no,
    c.file_id as config_file_id,
    c.line_no as config_line_no
from since as s
left join ais_event as c on c.cluster = s.cluster and (c.node_id = s.node_id or contains(c.text, '<-- p[' || s.node_id || ']')) and c.pattern = 'ais_config_changed' and c.utc_ns between s.utc_ns - 60000000000 and s.utc_ns
where s.is_of_others or c.file_id is not null or (s.kind = 'tokens_refused' and s.refused_count >= 3)
qualify row_number() over (partition by s.failure_id order by c.utc_ns desc, c.line_no desc) = 1
