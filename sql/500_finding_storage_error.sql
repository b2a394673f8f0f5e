-- Storage failed the rank that broke: its error or short batch is tied to a node of AIStore that
-- was in trouble.
-- grain: one row a failure
-- reads: failure_lead, node_fault, fault_kind, get_batch_chain, host_without_path,
-- reads: storage_relation
-- case: yes
-- note: Needs an error of the rank itself and a tie to a node by request, address, count or time; a
-- note: tie by a name that stands on both sides needs no more logs than those two; a missing object
-- note: counts only while a node was away or a disk was off, or where the node printed an error
-- note: about it that is not its absence (an error about a shard that cannot be read may be the
-- note: shard's own).
create or replace view finding_storage_error as
select
    f.failure_id,
    'storage_error' as finding,
    case
        when f.crash_class is null then 'quiet'
        when not f.is_link_seen then 'blind'
        when f.is_tied and f.crash_class in ('storage_io', 'data_loading_stall') then 'fired'
        when f.crash_class = 'network' and p.is_cut and p.is_many then 'quiet'
        when f.is_tied and f.crash_class = 'network'
            and (f.fault_kind
                in ('killed', 'crashed', 'hung', 'down', 'stopped', 'maintenance', 'cut')
                or (f.fault_kind is not null and f.link_kind not in ('fault_time', 'chain_time')
                    and not coalesce(p.is_cut or p.is_many, false)))
                then 'fired'
        when f.is_tied and f.crash_class in ('data', 'software')
            and f.crash_pattern not in ('manifest_field_missing', 'data_collate_failed')
            and f.fault_kind
                in ('killed', 'crashed', 'hung', 'down', 'stopped', 'isolated', 'disk_fault',
                    'disk_stuck', 'maintenance')
            and (f.link_kind <> 'fault_time'
                or (
                    f.crash_content is not null
                    and not (f.fault_kind = 'hung' and f.crash_content = 'cut')
                    and (f.fault_kind not in ('disk_fault', 'disk_stuck')
                        or coalesce(f.crash_node_id = f.link_node_id, true))))
                then 'fired'
        when f.is_tied and f.link_kind = 'error_line'
            and ((f.crash_class = 'data' and f.crash_content = 'absent')
                or (
                    (f.crash_class = 'data'
                        or f.crash_pattern in ('python_exception', 'file_missing'))
                    and f.fault_kind
                        in ('backend', 'disk_errors', 'files_exhausted', 'corrupt',
                            'restore_failed', 'upload_lost', 'job_aborted')))
                then 'fired'
        else 'quiet'
    end as state,
    'storage_io' as failure_class,
    if(f.is_starved, 'entry_late', coalesce(f.fault_kind, 'chain')) as failure_kind,
    case when f.is_unexplained then 'undetermined' else 'guilty' end as storage_verdict,
    case when not f.is_unexplained and not f.is_starved then f.link_node_id end as node_id,
    f.culprit_rank as rank,
    f.chain_id,
    f.culprits_words || ' failed with '
        || coalesce(f.exception,
            case
                when f.crash_pattern in ('storage_given_up', 'mountpoint_s3_failed') then '"'
                    || substr(coalesce(f.crash_message, f.crash_text), 1, 120) || '"' end,
            f.crash_pattern)
        || case
            when f.received_count is not null then ' (' || f.received_count::varchar || ' of '
                || coalesce(f.expected_count::varchar, '?') || ' entries came)'
            else '' end
        || case when f.is_unexplained then ', and why' else ' because' end || ' AIStore node '
            || f.link_node_id
            || case
                when f.is_starved
                    then ' waited in vain for what another target was to send for its batch'
                else coalesce(' ' || k.broke_words, ' had trouble: ' || f.fault_kind,
                    ' broke its batch') end
        || coalesce(' ' || n.moment_words,
            ' at ' || strftime(n.started_at::timestamp, '%H:%M:%S') || ' UTC', '')
        || case when f.is_unexplained then ' is not in these logs'
            when f.crash_pattern = 'sdk_object_not_found'
                and f.fault_kind in ('killed', 'crashed', 'hung', 'down', 'stopped', 'maintenance')
                then ': its peers do not have what it holds'
            else '' end as statement,
    list_concat(
        [
            {'term': 'error', 'file_id': f.crash_file_id, 'line_no': f.crash_line_no,
            'why': 'the error of ' || f.culprit_words},
            {'term': 'link', 'strength': f.link_score, 'file_id': f.link_file_id,
            'line_no': f.link_line_no, 'why': 'the link: ' || f.link_words
                || case when o.owner_id = f.link_node_id
                    then ', and by its name the object belongs on it' else '' end},
            {'file_id': n.file_id, 'line_no': n.line_no,
            'why': 'what was wrong with ' || n.node_id},
            {'file_id': g.file_id, 'line_no': g.line_no, 'why': 'the first line of the chain'},
            {'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
            'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
        ],
        case
            when n.silence_file_id is not null
                then [{'file_id': n.silence_file_id, 'line_no': n.silence_line_no,
                    'why': n.node_id || ' wrote nothing itself in ' || n.silence_words
                        || ', until this line'}]
            else [] end
            || case
                when f.request_pattern = 'fetch_broken'
                    then [{'file_id': f.request_file_id, 'line_no': f.request_line_no,
                        'why': 'what broke off before'}]
                else [] end,
        [{'term': x} for x in f.link_terms]
    ) as supports,
    case
        when f.link_kind = 'fault_time' and o.owner_id is distinct from f.link_node_id
            then [{'file_id': f.crash_file_id, 'line_no': f.crash_line_no,
                'why': 'the link is by time only: '
                    || case
                        when f.is_crash_named
                            then 'what the error names (a request, node or address) ties it to no '
                                'trouble in the AIStore logs'
                        else 'the error names no node and no request' end}]
        else [] end
        as contradicts
from (
    select
        *,
        fault_id is null and fault_kind = 'batch_stuck'
            and coalesce(starts_with(link_kind, 'chain_'), false) as is_starved,
        fault_kind is null
            and coalesce(link_kind in ('chain_count', 'chain_time'), false) as is_unexplained
    from failure_lead
) as f
left join node_fault as n on n.fault_id = f.fault_id
left join fault_kind as k on k.fault_kind = f.fault_kind
left join host_without_path as p on p.failure_id = f.failure_id
left join storage_relation as o on o.failure_id = f.failure_id
    and o.rank is not distinct from f.culprit_rank
left join get_batch_chain as g on g.chain_id = f.chain_id
where f.crash_pattern is not null
