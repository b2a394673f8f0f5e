-- The logs at hand cannot tell: what is missing is named among the blind spots.
-- grain: one row a failure
-- reads: failure_lead
-- stored: yes
-- empty without: failure_lead
create or replace view finding_undetermined as
select
    failure_id,
    'undetermined' as finding,
    'fired' as state,
    'undetermined' as failure_class,
    case
        when culprit_rank is not null then 'silent_rank'
        when absent_count > 0 then 'rank_log_missing'
        else 'no_cause_in_logs'
    end as failure_kind,
    'undetermined' as storage_verdict,
    null::varchar as node_id,
    culprit_rank as rank,
    null::varchar as chain_id,
    0.4 as score,
    case
        when culprit_rank is not null then 'rank ' || culprit_rank::varchar || ' kept the others waiting, but nothing at hand tells why'
        when absent_count > 0 then 'ranks ' || array_to_string(absent_ranks[1:8], ', ') || case when absent_count > 8 then ' and more' else '' end || ' left no line, so the one that was missing cannot be told from the one whose log is missing'
        else 'the job failed and no line at hand names a first cause'
    end as statement,
    [{'file_id': coalesce(basis_file_id, file_id), 'line_no': coalesce(basis_line_no, line_no), 'why': 'the failure itself'}] as supports,
    [] as contradicts
from failure_lead
