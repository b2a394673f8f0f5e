-- The host of a rank was lost, with all ranks that ran there.
-- grain: one row a failure
-- reads: failure_lead
-- case: yes
create or replace view finding_host_lost as
select
    f.failure_id,
    'host_lost' as finding,
    'fired' as state,
    'infrastructure' as failure_class,
    f.basis as failure_kind,
    'innocent' as storage_verdict,
    f.culprit_rank as rank,
    'the host of ' || f.culprits_words
        || ' was lost, and with it all ranks that ran there: '
        || trim(regexp_extract(
            f.basis_text, '(srun: error: .*|sel: .*|Power .*|Kernel panic.*|BUG: unable .*)$', 1
        )) as statement,
    [{
        'term': 'word', 'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
        'why': 'why ' || f.culprit_words || ': ' || f.basis_words
    }] as supports
from failure_lead as f
where f.basis = 'lost_host'
