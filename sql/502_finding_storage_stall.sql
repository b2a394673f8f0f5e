-- A rank hung without an error while an AIStore node was away or could not serve.
-- grain: one row a failure
-- reads: failure_lead, suspect_basis, node_fault, fault_kind, threshold, host_without_path
-- case: yes
-- note: A hung request prints nothing, so the tie is the moment: the fault must be on when the rank
-- note: stops keeping up, and nothing may show the rank doing anything else. The moment is not
-- note: enough where the rank could connect to none of many nodes (host_without_path). A host that
-- note: was lost waits for nothing. A target with a batch that got stuck may wait for a sender: it
-- note: is not responsible where nothing was wrong with it. The batch shows that a rank waits for
-- note: storage, whichever it is.
create or replace view finding_storage_stall as
select
    f.failure_id,
    'storage_stall' as finding,
    case
        when f.crash_pattern is not null
            or (f.culprit_rank is null and f.link_kind is distinct from 'held_batch') then 'quiet'
        when f.basis in ('lost_host', 'departed')
            or f.basis in (select basis from suspect_basis where has_parted)
            or (m.failure_id is not null and f.link_kind in ('fault_time', 'chain_time'))
                then 'quiet'
        when not f.is_storage_seen and not f.is_tie_proven then 'blind'
        when f.link_score
            >= case when f.request_outcome is null
                and coalesce(f.activity, 'unknown')
                    in ('unknown', 'step', 'epoch_end', 'initialisation') then p.value
                else 0.45 end
            then 'fired'
        else 'quiet'
    end as state,
    'data_loading_stall' as failure_class,
    coalesce(f.fault_kind, 'chain') as failure_kind,
    'guilty' as storage_verdict,
    case when f.link_kind is distinct from 'held_batch' or f.fault_id is not null
        then f.link_node_id end
        as node_id,
    f.culprit_rank as rank,
    f.chain_id,
    f.culprits_words
        || case when f.activity = 'storage_wait' then ' waited for storage'
            when coalesce(f.activity, 'unknown') in ('unknown', 'initialisation')
                then ' hung without an error'
            else ' hung, last seen ' || f.activity_words || ',' end
        || ' while AIStore node ' || f.link_node_id
            || coalesce(' ' || if(n.moment_words is null, k.stalled_words, k.broke_words),
                ' had trouble: ' || f.fault_kind, ' broke batches')
        || coalesce(' ' || n.moment_words,
            ' since ' || strftime(n.started_at::timestamp, '%H:%M:%S') || ' UTC', '')
            as statement,
    list_concat(
        [
            {'term': 'stop', 'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
            'why': 'why ' || f.culprit_words || ': ' || f.basis_words},
            {'file_id': n.file_id, 'line_no': n.line_no,
            'why': 'what was wrong with ' || f.link_node_id},
            {'term': 'link', 'strength': f.link_score, 'file_id': f.link_file_id,
            'line_no': f.link_line_no, 'why': 'the link: ' || f.link_words},
            {'file_id': f.request_file_id, 'line_no': f.request_line_no,
            'why': case
                when f.request_outcome = 'pending' then 'what it was asking for: ' || f.request_text
                else 'what it met at the storage before' end},
            {'file_id': f.activity_file_id, 'line_no': f.activity_line_no,
            'why': 'what the rank was doing: ' || replace(f.activity, '_', ' ')}
        ],
        case
            when n.silence_file_id is not null
                then [{'file_id': n.silence_file_id, 'line_no': n.silence_line_no,
                    'why': f.link_node_id || ' wrote nothing itself in ' || n.silence_words
                        || ', until this line'}]
            else [] end,
        [{'term': x} for x in f.link_terms]
    ) as supports,
    list_concat(
        case
            when f.activity
                in ('checkpoint', 'evaluation', 'compute', 'collective', 'decoding', 'lock',
                    'sleep', 'debugger', 'another_service')
                then [{'file_id': f.activity_file_id, 'line_no': f.activity_line_no,
                    'why': 'the rank was doing something else: ' || f.activity}]
            when f.activity in ('unknown', 'step', 'epoch_end', 'initialisation')
                then [{'file_id': f.activity_file_id, 'line_no': f.activity_line_no,
                    'why': 'nothing shows that the rank was reading data'}]
            else []
        end,
        case
            when f.basis = 'stack'
                then [{'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
                    'why': 'only stacks place the ranks: no sequence number says that it had not '
                        'entered the collective'}]
            else [] end
    ) as contradicts
from failure_lead as f
join threshold as p on p.name = 'link_score'
left join node_fault as n on n.fault_id = f.fault_id
left join fault_kind as k on k.fault_kind = f.fault_kind
left join host_without_path as m on m.failure_id = f.failure_id and m.is_many
