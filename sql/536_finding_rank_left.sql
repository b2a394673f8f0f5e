-- A rank ended without a crash while the others went on, was interrupted, or fell silent, was killed, was lost or could not be reached with its whole host.
-- grain: one row a failure
-- reads: failure_lead
-- case: yes
-- note: Who leaves before the others has mostly had fewer batches or shards. Storage that was quiet is innocent of both, though not of an error that speaks of data; without its logs a short answer may have made the batches fewer, while a host that goes takes no storage with it.
create or replace view finding_rank_left as
select
    f.failure_id,
    'rank_left' as finding,
    'fired' as state,
    case when f.basis in ('left', 'own_error') then 'software' when f.basis = 'unreached' then 'network' else 'infrastructure' end as failure_class,
    f.basis as failure_kind,
    case
        when f.basis in ('interrupted', 'killed_host', 'lost_host', 'unreached') or (f.is_storage_cleared and f.fault_count = 0 and coalesce(f.stray_count, 0) = 0 and not (f.basis = 'own_error' and regexp_matches(f.basis_text, '(?i)\w://|\b(bucket|object|shard|sample|download|fetch|batch)'))) then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    null::varchar as node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    case f.basis when 'killed_host' then 0.8 when 'lost_host' then 0.88 when 'unreached' then 0.85 when 'own_error' then 0.75 else 0.65 end as score,
    case f.basis
        when 'left' then f.culprit_words || ' ended with success while the others went on, which then lost their connection'
        when 'own_error' then f.culprit_words || ' ended after an error of its own, and the others then lost their connection: ' || substr(trim(f.basis_text), 1, 160)
        when 'interrupted' then f.culprit_words || ' was interrupted from outside, and the others then lost their connection'
        when 'killed_host' then 'the launcher of ' || f.culprit_words || ' was killed, and with it all ranks of its host'
        when 'lost_host' then 'the host of ' || f.culprit_words || case when f.culprit_count > 1 then ' and ' || (f.culprit_count - 1)::varchar || ' more' else '' end || ' was lost, and with it all ranks that ran there: ' || trim(regexp_extract(f.basis_text, '(srun: error: .*|sel: .*|Power .*|Kernel panic.*|BUG: unable .*)$', 1))
        when 'unreached' then 'no other rank could connect to the host of ' || f.culprit_words || ', where NCCL uses ' || coalesce(nullif(regexp_extract(f.basis_text, 'Using (\S+)', 1), ''), 'another address')
        else 'the host of ' || f.culprit_words || ' fell silent with all its ranks: the others lost their connections, and no launcher reports how it ended'
    end as statement,
    [{'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': case when f.basis in ('lost_host', 'unreached') then 'why ' else 'the last line of ' end || f.culprit_words || ': ' || f.basis_words}] as supports,
    [] as contradicts
from failure_lead as f
where f.basis in ('left', 'vanished', 'own_error', 'interrupted', 'killed_host', 'lost_host', 'unreached')
