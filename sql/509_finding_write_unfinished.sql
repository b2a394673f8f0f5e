-- Ranks waited for a checkpoint of which one target of AIStore, its disk at its limit, finished nothing, while the others had finished theirs.
-- grain: one row a failure
-- reads: failure_lead, unfinished_write
-- case: yes
create or replace view finding_write_unfinished as
select
    f.failure_id,
    'write_unfinished' as finding,
    case when u.failure_id is not null and f.is_storage_seen then 'fired' else 'quiet' end as state,
    'data_loading_stall' as failure_class,
    'write_unfinished' as failure_kind,
    'guilty' as storage_verdict,
    u.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.74 as score,
    coalesce(
        f.culprit_words || ' kept the others waiting for a checkpoint: a disk of AIStore node ' || u.node_id || ' was at its limit, and nothing of it was finished there, while '
        || u.target_count::varchar || ' other targets had finished ' || u.put_count::varchar || ' large PUTs',
        'no target is known that held up a checkpoint alone'
    ) as statement,
    [
        {'file_id': u.file_id, 'line_no': u.line_no, 'why': 'the disk that was at its limit'},
        {'file_id': u.stack_file_id, 'line_no': u.stack_line_no, 'why': 'the stack of rank ' || u.stack_rank::varchar || ', which waits for the checkpoint'},
        {'file_id': u.word_file_id, 'line_no': u.word_line_no, 'why': 'where the checkpoint goes'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [] as contradicts
from failure_lead as f
left join unfinished_write as u on u.failure_id = f.failure_id
where f.culprit_rank is not null
