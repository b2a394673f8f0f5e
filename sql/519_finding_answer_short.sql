-- A rank failed over content that ends early, and ranks say that answers of one address of AIStore had fewer bytes than they announced.
-- grain: one row a failure of this kind
-- reads: failure_lead, short_answer
-- stored: yes
-- empty without: short_answer
-- note: An object that is short itself is announced as short, so that the length of the answer and its content agree; where they do not, the target or the way to it ended the answer. One rank alone, or more addresses than one, leave open which of the two it was.
create or replace view finding_answer_short as
select
    f.failure_id,
    'answer_short' as finding,
    'fired' as state,
    'storage_io' as failure_class,
    'answers_short' as failure_kind,
    case when a.rank_count >= 2 and a.address_count = 1 then 'guilty' else 'undetermined' end as storage_verdict,
    case when a.address_count = 1 then a.node_id end as node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    case when a.rank_count >= 2 and a.address_count = 1 then 0.92 else 0.91 end as score,
    f.culprit_words || ' failed with ' || coalesce(f.exception, f.crash_pattern) || ' over content that ends early: ' || a.line_count::varchar || ' answer' || case when a.line_count > 1 then 's' else '' end || ' to ' || a.rank_count::varchar || ' rank' || case when a.rank_count > 1 then 's' else '' end
        || ' had fewer bytes than announced, ' || case when a.address_count = 1 then 'all of ' || a.endpoint || coalesce(' (' || a.node_id || ')', '') else 'of ' || a.address_count::varchar || ' addresses' end as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': a.file_id, 'line_no': a.line_no, 'why': 'an answer that was shorter than announced'},
        {'file_id': case when a.line_count > 1 then a.other_file_id end, 'line_no': a.other_line_no, 'why': 'another such answer'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [] as contradicts
from failure_lead as f
join short_answer as a on a.failure_id = f.failure_id
where f.crash_pattern is not null
    and (f.crash_class = 'data' or regexp_matches(coalesce(f.crash_message, ''), '(?i)\btruncat|unexpected end|unexpected eof|incomplete|premature|ends? early|corrupt'))
