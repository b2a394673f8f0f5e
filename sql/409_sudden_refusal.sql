-- AIStore turned away everybody who asked, since a moment in the middle of a job that failed for it: it demands or drops tokens, or refuses a form of request.
-- grain: one row a failure
-- reads: failure_lead, job, rank_request, ais_event, threshold
-- case: yes
-- note: Somebody has changed its settings, or its list of tokens, then. Requests for more than one bucket must have been refused so, one of them for a bucket that the rank did not ask for; or the node that refused first had got, or as the primary sent, a new configuration within a minute before (config_line_no); or signatures of the job's own tokens were found invalid again and again (refused_count), which had been taken before: a token does not lose its signature, the key that it is verified with is another. Of any other answer (words: how it begins) both must hold, and one of them must name what the rank failed on, or the job's bucket where its client was told that its request is wrong (4xx): what is not there, not permitted or out of range, and what clients broke off, is no such answer. None was refused before the job had begun (a minute before, where it printed no progress).
create or replace view sudden_refusal as
with kind as (
    select *
    from (values
        ('token required', 'tokens_demanded', 'demands tokens'),
        ('token signature is invalid', 'tokens_refused', 'finds the signatures of tokens invalid'),
        ('token revoked', 'tokens_revoked', 'calls tokens revoked')
    ) as k(words, kind, says)
),
refused as (
    select
        e.cluster, e.node_id, e.utc_ns, e.file_id, e.line_no, e.text, nullif(nullif(regexp_extract(e.text, ' (?:GET|HEAD|PUT|POST|DELETE|PATCH) /(?:v1/(?:objects|buckets|ml/moss)/|s3/)?([^/?\s]+)', 1), ''), 'v1') as bucket,
        coalesce(k.words, nullif(regexp_extract(e.text, '^E \S+ (?:Err\w+: )?([A-Za-z][\w ,-]{11,}?)(?:: | [''"\[(])[^\n]*: (?:GET|HEAD|PUT|POST|DELETE|PATCH) /', 1), '')) as words
    from ais_event as e
    left join kind as k on contains(e.text, k.words)
    where e.severity = 'E' and (k.words is not null or not regexp_matches(e.text, '(?i)token|permi(t|ssion)|authori[sz]|access denied|does not exist|not found|exists|\brange\b|out of space|broken pipe|reset by peer|client gone|failed to|context canceled'))
),
named as (
    select f.failure_id, f.cluster, f.crash_ns, f.crash_latest_ns, unnest(regexp_extract_all(f.crash_text || ' ' || coalesce(f.crash_message, ''), '[\w.-]*\d[\w.-]*\.[A-Za-z][A-Za-z0-9]{1,11}\b')) as name
    from failure_lead as f
),
wanted as (
    select f.failure_id, k.words, k.kind, k.says
    from failure_lead as f
    join kind as k on contains(coalesce(f.crash_message, f.alike_message), k.words)
    union
    select n.failure_id, e.words, 'requests_refused', 'answers "' || e.words || '"'
    from named as n
    join threshold as b on b.name = 'felt_before_s'
    join threshold as a on a.name = 'felt_after_s'
    join refused as e on e.cluster = n.cluster and e.words not in (select words from kind) and length(n.name) >= 8 and contains(e.text, n.name)
        and e.utc_ns between n.crash_ns - a.value::bigint * 1000000000 and n.crash_latest_ns + b.value::bigint * 1000000000
    union
    select f.failure_id, e.words, 'requests_refused', 'answers "' || e.words || '"'
    from failure_lead as f
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    join threshold as a on a.name = 'felt_after_s'
    join refused as e on e.cluster = f.cluster and e.words not in (select words from kind) and length(e.bucket) > 2 and contains(j.data_source, '://' || e.bucket)
        and e.utc_ns between f.crash_ns - a.value::bigint * 1000000000 and f.crash_latest_ns
    where regexp_matches(coalesce(f.crash_text, '') || coalesce(f.crash_message, ''), '\(4\d\d\)|\b4\d\d (Client|Bad)|STATUS:4\d\d')
),
asked as (
    select failure_id, string_agg(concat_ws(' ', bucket, url, text), ' ') as words
    from rank_request
    group by failure_id
),
since as (
    select
        f.failure_id, k.kind, k.says, any_value(f.cluster) as cluster,
        count(distinct (e.node_id, e.utc_ns)) as refused_count,
        count(distinct e.bucket) > 1 and bool_or(not contains(coalesce(r.words, ''), e.bucket)) as is_of_others,
        arg_min(e.node_id, (e.utc_ns, e.file_id, e.line_no)) as node_id, min(e.utc_ns) as utc_ns,
        arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no)) as file_id, arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no)) as line_no
    from failure_lead as f
    join wanted as k on k.failure_id = f.failure_id
    join refused as e on e.cluster = f.cluster and e.utc_ns <= coalesce(f.crash_latest_ns, f.stall_ns) + 60000000000 and e.words = k.words
    left join asked as r on r.failure_id = f.failure_id
    group by f.failure_id, f.started_ns, f.progress_ns, k.kind, k.says
    having min(e.utc_ns) > f.started_ns + case when f.progress_ns is null then 60000000000 else 0 end
)
select
    s.failure_id, s.kind,
    case when s.is_of_others and s.kind <> 'requests_refused' then 'since the job began AIStore ' || s.says || ', of others too' when c.file_id is null then 'in the middle of the job AIStore ' || s.says || ', ' || s.refused_count::varchar || ' times, that it had taken before' else 'AIStore ' || s.says || ' since it got a new configuration' || case when s.utc_ns - c.utc_ns < 5000000000 then ', right before the first was refused' else ', ' || round((s.utc_ns - c.utc_ns) / 1e9)::integer::varchar || ' s before the first was refused' end end as says,
    s.file_id,
    s.line_no,
    c.file_id as config_file_id,
    c.line_no as config_line_no
from since as s
left join ais_event as c on c.cluster = s.cluster and (c.node_id = s.node_id or contains(c.text, '<-- p[' || s.node_id || ']')) and c.pattern = 'ais_config_changed' and c.utc_ns between s.utc_ns - 60000000000 and s.utc_ns
where case s.kind when 'requests_refused' then s.is_of_others and c.file_id is not null else s.is_of_others or c.file_id is not null or (s.kind = 'tokens_refused' and s.refused_count >= 3) end
qualify row_number() over (partition by s.failure_id order by s.kind = 'requests_refused', c.utc_ns desc, c.line_no desc) = 1
