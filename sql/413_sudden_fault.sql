-- A node of AIStore that went, or a disk of it that failed, in the very seconds when a rank could
-- not use what it had read.
-- grain: one row a failure for which there is one; of several the one that began nearest to the
-- grain: error
-- reads: failure_case, failure_coverage, culprit_cause, node_fault, threshold
-- case: yes
-- note: Content that breaks off looks broken in whatever words its decoder has, and a library's own
-- note: error tells as little. Only what began within a time-out before the error and seconds after
-- note: it (felt_before_s) counts, and only an error that was raised below a loader, a client or a
-- note: decoder.
create or replace view sudden_fault as
select f.failure_id, n.node_id, n.fault_kind, n.started_ns, n.file_id, n.line_no
from failure_case as f
join failure_coverage as v on v.failure_id = f.failure_id
join culprit_cause as u on u.failure_id = f.failure_id and u.culprit_no = 1
join threshold as b on b.name = 'felt_before_s'
join threshold as a on a.name = 'same_cause_s'
cross join lateral (select f.crash_latest_ns - f.crash_ns <= 2 * b.value * 1e9 as is_exact) as t
cross join lateral (select case when t.is_exact then f.crash_ns else f.stall_ns end as from_ns,
    case when t.is_exact then f.crash_latest_ns else f.stall_ns end as to_ns)
    as m
join node_fault as n on n.cluster = v.cluster
    and n.fault_kind
        in ('killed', 'crashed', 'hung', 'down', 'stopped', 'cut', 'disk_fault', 'disk_errors',
            'disk_stuck', 'handler_panic')
    and n.started_ns between m.from_ns - 2 * b.value * 1e9 and m.to_ns + a.value * 1e9
where u.frame_kind in ('storage', 'data_loading', 'decoding')
    and (u.crash_pattern = 'python_exception'
        or (u.crash_class = 'data' and u.crash_pattern <> 'sdk_archive_member_unknown'
            and u.crash_content is distinct from 'absent'))
    and not regexp_matches(coalesce(u.exception, ''),
        '^(Type|Attribute|Name|UnboundLocal|Key|Index|Assertion|NotImplemented|Import'
            '|ModuleNotFound|Recursion|ZeroDivision|FloatingPoint|Syntax|FileNotFound|FileExists'
            '|Permission|IsADirectory|NotADirectory)Error$')
    and not regexp_matches(u.crash_message,
        '(?i)\b(dtype|shape|tensor|dimension|channel|label|vocab|broadcast)|: '
            '?([^\n]*[\s''"=(])?/[\w.-]+/[^:\n]*$')
    and not (coalesce(u.request_pattern = u.crash_pattern, true)
        and regexp_matches(u.crash_message, '(?i)\bfewer shards than\b'))
qualify row_number()
    over (partition by f.failure_id order by abs(n.started_ns - m.from_ns), n.weight desc,
        n.node_id, n.fault_id)
        = 1
