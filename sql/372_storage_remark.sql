-- What AIStore's own lines say was wrong with the very thing that a rank failed on: its object, its
-- request, its batch.
-- grain: one row a failure for which there is such a line; of several the line nearest to the
-- grain: failure
-- reads: failure_case, failure_coverage, culprit_cause, rank_crash, rank_request, node_witness,
-- reads: node, node_endpoint, ais_event, threshold
-- case: yes
-- note: A warning or an error that names what the error of the rank names (an object or a file of a
-- note: shard by a name with a digit and an extension, or a wid), or an error in no known words
-- note: about the bucket that the rank was reading (stall_reach_s), or any about batches and
-- note: objects by the target whose host a program's own error names (AIStore's lines print the
-- note: ports of its inner networks), in the seconds before it (felt_before_s); and where a
-- note: program's own error speaks of a list of a bucket, a rebalance that was broken off and not
-- note: made up for, as AIStore lists only what lies in its place. A line that says of a request no
-- note: more than the client was answered is none.
create or replace view storage_remark as
with reach as (
    select
        max(value::bigint * 1000000000) filter (where name = 'felt_before_s') as slack_ns,
        max(value::bigint * 1000000000) filter (where name = 'stall_reach_s') as reach_ns,
        max(value::bigint * 1000000000) filter (where name = 'named_fault_s') as named_ns,
        max(value::bigint * 1000000000) filter (where name = 'request_pending_s') as pending_ns
    from threshold
),
failed as (
    select f.failure_id, v.cluster, u.rank, f.stall_ns, f.crash_ns,
        u.crash_pattern = 'python_exception' as is_own_word, p.slack_ns, f.started_ns, f.ended_ns,
        p.reach_ns, p.named_ns, f.progress_ns - p.pending_ns as outlived_ns,
        coalesce(regexp_matches(u.crash_pattern, '(access_denied|credential_invalid)$'), false)
            as is_turned_away,
        coalesce(case when f.crash_latest_ns <= f.crash_ns + p.slack_ns then f.crash_latest_ns end,
            f.stall_ns)
            + p.slack_ns as until_ns,
        coalesce(u.crash_text, '') || ' ' || coalesce(u.crash_message, c.messages, '') as words
    from failure_case as f
    join failure_coverage as v on v.failure_id = f.failure_id and v.cluster is not null
    cross join reach as p
    left join culprit_cause as u on u.failure_id = f.failure_id and u.culprit_no = 1
    left join (
        select job_id, attempt, string_agg(distinct message, ' ') as messages from rank_crash
        where signal = 'crash' group by job_id, attempt
    ) as c on c.job_id = f.job_id and c.attempt = f.attempt
),
asked as (
    select f.failure_id, r.object, r.wid, r.text,
        coalesce(regexp_extract(r.bucket, '([^/]+)$', 1),
            nullif(
                regexp_extract(coalesce(r.url, r.text), '/v1/(?:objects|ml/moss)/([^/?\s"]+)', 1),
                ''))
            as bucket
    from failed as f
    join rank_request as r on r.failure_id = f.failure_id and r.rank = f.rank
        and r.outcome not in ('note', 'recovered')
        and r.to_ns >= greatest(f.stall_ns - f.reach_ns, coalesce(f.outlived_ns, 0))
        and not f.is_turned_away
),
named as (
    select failure_id,
        unnest(regexp_extract_all(words, '[\w.-]*\d[\w.-]*\.[A-Za-z][A-Za-z0-9]{1,11}\b')) as name
        from failed
    union
    select failure_id,
        unnest(regexp_extract_all(text, '[/''"]([\w.-]*\d[\w.-]*\.[A-Za-z][A-Za-z0-9]{1,11})\b', 1))
        from asked
    union
    select failure_id, regexp_extract(object, '[^/]+$') from asked
    union
    select failure_id, wid from asked
),
said as (
    select e.cluster, e.node_id, e.utc_ns, e.file_id, e.line_no, e.text, e.error,
        coalesce(e.tier, 'storage') in ('get_batch', 'storage') as is_served
    from ais_event as e
    where e.severity in ('W', 'E') and e.node_id is not null
        and coalesce(e.role, 'cause') in ('cause', 'symptom', 'consequence', 'context')
        and (e.pattern is not distinct from 'ais_backend_failed'
            or regexp_matches(e.text, '(?i)\bupload \S+ not found')
            or not regexp_matches(e.text,
                '(?i)token|permi(t|ssion)|authori[sz]|access denied|does not exist|not found'
                    '|broken pipe|reset by peer|client gone|failed to transmit|context canceled'
                    '|bad request'))
        and not (starts_with(coalesce(e.pattern, ''), 'ais_http_')
            and regexp_matches(e.text,
                '(?i)invalid|\brange\b|unsupported|malformed|not allowed|required|conflict|too '
                    'large'))
),
host as (
    select e.cluster, split_part(e.endpoint, ':', 1) as host, any_value(e.node_id) as node_id
    from node_endpoint as e
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'target'
    group by e.cluster, split_part(e.endpoint, ':', 1)
    having count(distinct e.node_id) = 1
),
met as (
    select f.failure_id, s.node_id, n.name, s.utc_ns, s.file_id, s.line_no, f.stall_ns
    from failed as f
    join named as n on n.failure_id = f.failure_id and length(n.name) >= 8
        and regexp_matches(n.name, '\d|-')
        and not regexp_matches(n.name, '\.(py|pyx|cpp|cc|cu|h|hpp|go|so)$')
    join said as s on s.cluster = f.cluster
        and s.utc_ns between f.started_ns
            - f.named_ns
                and case
                    when regexp_matches(s.text, '(?i)input/output error|bad checksum|corrupt')
                        then greatest(f.until_ns, f.ended_ns)
                    else f.until_ns end
        and contains(s.text, n.name)
    where not exists (from asked as a
        where a.failure_id = f.failure_id and a.wid = n.name and contains(a.text, s.error))
    union all
    select f.failure_id, w.node_id, a.bucket, w.utc_ns, w.file_id, w.line_no, f.stall_ns
    from failed as f
    join asked as a on a.failure_id = f.failure_id and length(a.bucket) > 2
    join node_witness as w on w.cluster = f.cluster and w.effect = 'unknown_error'
        and w.pattern = 'other_error' and w.utc_ns between f.stall_ns - f.reach_ns and f.until_ns
        and (contains(w.text, '://' || a.bucket || '/')
            or contains(w.text, '/v1/objects/' || a.bucket || '/'))
    union all
    select f.failure_id, s.node_id, 'what it served', s.utc_ns, s.file_id, s.line_no, f.stall_ns
    from failed as f
    join host as d on d.cluster = f.cluster and contains(f.words, '//' || d.host || ':')
    join said as s on s.cluster = f.cluster and s.node_id = d.node_id and s.is_served
        and s.utc_ns between f.crash_ns - f.slack_ns and f.until_ns
    where f.is_own_word
    union all
    select f.failure_id, e.node_id,
        'a rebalance, and what one leaves elsewhere is in no list of its bucket', e.utc_ns,
        e.file_id, e.line_no, f.stall_ns
    from failed as f
    join ais_event as e on e.cluster = f.cluster
        and e.pattern in ('ais_rebalance_failed', 'ais_rebalance_finished_with_error')
        and e.utc_ns <= f.until_ns
    where f.is_own_word and regexp_matches(f.words, '(?i)ais://[\w.-]')
        and regexp_matches(f.words, '(?i)\b(un)?list(s|ed|ing)?\b')
        and not exists (from ais_event as d
            where d.cluster = f.cluster and d.pattern = 'ais_rebalance_done_cluster'
                and d.utc_ns between e.utc_ns and f.until_ns)
)
select failure_id, node_id, name, utc_ns, file_id, line_no
from met
qualify row_number()
    over (partition by failure_id order by abs(utc_ns - stall_ns), node_id, file_id, line_no, name)
        = 1
