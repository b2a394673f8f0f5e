-- A rank had a batch without samples, or more unread samples than its program bears, since its loader had left out what it could not read.
-- grain: one row a failure
-- reads: failure_lead, worker_event, ais_event, node_fault, fault_kind, threshold
-- stored: yes
-- empty without: failure_lead where crash_pattern in ('data_batch_empty', 'python_exception')
-- note: A loader that goes on after an error leaves the sample out; where it has to leave out a whole batch the program fails on that, and the refused reads stand right in front of it; so does one that counts what it leaves out and has a limit for it. Of such a limit speak words for a count next to those for samples that did not come, not for their length or form; where it prints a number, a few must have been left out in front of it. What the storage refused as not there was asked for in vain by the data itself and does not count. Storage is guilty where several were left out and a node of AIStore says in its own log, shortly before, that it could not read one of these very objects; where no log at hand tells why, nobody is.
create or replace view finding_batch_emptied as
with word as (
    select '(too many|more than \d+|\d+ (consecutive|successive)) ([\w-]+ ){0,2}' as counting, '(samples|files|objects|items|cuts|utterances|images|records|shards|examples|clips|reads|loads)' as noun, '((could not|cannot) be (read|loaded|opened|fetched)|unread(able)?|skipped|left out|dropped|failed( to (be )?(read|load|open|fetch|download)(ed)?)?( in a row| in succession| *[(,.;!]|$))' as miss
),
emptied as (
    select f.*, f.crash_pattern <> 'data_batch_empty' as is_limit, p.value * 1e9 as slack_ns, q.value * 1e9 as reach_ns
    from failure_lead as f
    join threshold as p on p.name = 'felt_before_s'
    join threshold as q on q.name = 'stall_reach_s' cross join word as w
    where f.culprit_rank is not null and (f.crash_pattern = 'data_batch_empty' or (f.crash_pattern = 'python_exception'
        and regexp_matches(f.crash_message, '(?i)\b(' || w.counting || '((unread|unreadable|unloadable|failed|skipped|dropped|bad) ([\w-]+ )?' || w.noun || '|(read|load|fetch) (errors|failures))\b|(' || w.counting || w.noun || '|' || w.noun || ' in (a row|succession))\b[^:;]{0,40}\b' || w.miss || '|' || w.noun || '\b[^:;]{0,40}\b(failed|' || w.miss || ') ?in (a row|succession)|(skipped|dropped|left out|(failed|unable) to (read|load|open|fetch)|could not (read|load|open|fetch)) ([\w-]+ ){0,2}(' || w.counting || w.noun || '|' || w.noun || ' in (a row|succession))\b)')
        and not regexp_matches(f.crash_message, '(?i)\b(lengths?|tokens?|tokeni[sz]\w*|sizes?|shapes?|dim(ension)?s?|durations?)\b')))
),
dropped as (
    select f.failure_id, f.cluster, f.crash_ns - f.reach_ns as from_ns, f.crash_ns + f.slack_ns as until_ns, e.bucket, e.object, e.file_id, e.line_no
    from emptied as f
    join worker_event as e on e.job_id = f.job_id and e.attempt = f.attempt and e.file_id = f.crash_file_id and e.line_no < f.crash_line_no and coalesce(e.rank, f.culprit_rank) = f.culprit_rank
        and e.tier = 'data_io' and e.object is not null and regexp_extract(e.text, '^ *\d+: ') = regexp_extract(coalesce(f.crash_text, ''), '^ *\d+: ') and e.utc_ns >= f.crash_ns - case when f.is_limit then f.reach_ns else f.slack_ns end
    where regexp_matches(e.text, '(?i)\b(left|leaving) (it )?out\b|\bskip|\bdrop|\bignor|\bdiscard|\bpass(ed|ing) over\b')
        and not regexp_matches(e.text, '(?i)\b40[134]\b|does not exist|not found|permi(t|ssion)|denied|identif|decod|corrupt|truncat')
),
unread as (
    select d.failure_id, d.object, n.node_id, n.fault_kind, n.started_at, a.file_id, a.line_no
    from dropped as d
    join ais_event as a on a.cluster = d.cluster and a.object = d.object and a.severity = 'E' and regexp_extract(a.bucket, '[^/]+$') = regexp_extract(d.bucket, '[^/]+$') and a.utc_ns between d.from_ns and d.until_ns
        and not regexp_matches(a.text, '(?i)does not exist|not found|permi(t|ssion)|broken pipe|reset by peer|context canceled')
    join node_fault as n on n.cluster = d.cluster and n.node_id = a.node_id and n.weight >= 0.5 and a.utc_ns between n.started_ns and n.ended_ns
    qualify row_number() over (partition by d.failure_id order by d.line_no desc, n.weight desc, a.utc_ns, a.file_id, a.line_no) = 1
),
counted as (
    select failure_id, count(*) as drop_count, min(file_id) as file_id, min(line_no) as line_no
    from dropped
    group by failure_id
)
select
    f.failure_id,
    'batch_emptied' as finding,
    'fired' as state,
    case when u.node_id is not null then 'storage_io' else 'data' end as failure_class,
    coalesce(u.fault_kind, 'data_batch_empty') as failure_kind,
    case when u.node_id is not null then 'guilty' else 'undetermined' end as storage_verdict,
    u.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.88 as score,
    f.culprit_words || case when f.is_limit then ' gave up (' || regexp_replace(f.crash_message, '^[\w.]+: ', '') || '): ' else ' had a batch without samples: ' end || 'its loader had just left out ' || c.drop_count::varchar || case when c.drop_count = 1 then ' sample' else ' samples' end || ' that it could not read'
        || coalesce(', since AIStore node ' || u.node_id || ' ' || k.broke_words || ' (' || u.object || ')', '; no log at hand tells why') as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': case when f.is_limit then 'where the program gave up' else 'the batch without samples' end},
        {'file_id': c.file_id, 'line_no': c.line_no, 'why': 'the first sample that was left out'}
    ] || case when u.node_id is not null then [{'file_id': u.file_id, 'line_no': u.line_no, 'why': 'node ' || u.node_id || ' on one of them'}] else [] end as supports,
    [] as contradicts
from emptied as f
join counted as c on c.failure_id = f.failure_id and (not f.is_limit or c.drop_count >= least(coalesce(try_cast(regexp_extract(f.crash_message, '\b\d+\b') as bigint), 1), 3))
left join unread as u on u.failure_id = f.failure_id and c.drop_count > 1
left join fault_kind as k on k.fault_kind = u.fault_kind
