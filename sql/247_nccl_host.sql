-- A host of a job as NCCL's and gloo's own lines show it: what it runs, which network it chose,
-- when its trouble began, who names it.
-- grain: one row a job attempt and host
-- reads: worker_event, ib_status
-- stored: yes
-- note: stop_no counts hosts by their first warning or lost connection, 1 = first; a host that
-- note: others name and that says nothing itself comes before them, for it was the first to be
-- note: gone. named_by counts other hosts that lost a connection to one of its addresses; addresses
-- note: are known from the lines in which NCCL says its interface.
create or replace view nccl_host as
with placed as (
    select *, coalesce(nullif(json_extract_string(capture, '$.host'), ''), host) as own_host
    from worker_event
),
rank_host as (
    select job_id, attempt, rank, mode(own_host order by own_host) as host
    from placed
    where rank is not null and own_host is not null and own_host <> 'localhost'
    group by job_id, attempt, rank
),
line as (
    select
        p.job_id, p.attempt, coalesce(p.own_host, h.host) as host, p.rank, p.pattern, p.severity,
        p.rank_effect, p.tier, p.utc_ns, p.latest_ns, p.file_id, p.line_no, p.text,
        coalesce(json_extract_string(capture, '$.network'),
            regexp_extract(json_extract_string(capture, '$.network_name'), '^(\w+)', 1))
            as network,
        json_extract_string(capture, '$.interface') as interface,
        json_extract_string(capture, '$.nccl_version') as nccl_version,
        json_extract_string(capture, '$.torch_version') as torch_version,
        regexp_replace(json_extract_string(capture, '$.peer_address'), '^\[|[\]<].*$', '', 'g')
            as peer,
        try_cast(json_extract_string(capture, '$.ib_status') as integer) as ib_status
    from placed as p
    left join rank_host as h on h.job_id = p.job_id and h.attempt = p.attempt and h.rank = p.rank
),
address as (
    select distinct job_id, host,
        unnest(
            [host, split_part(host, '.', 1),
                nullif(regexp_extract(interface, '(?:^|[:;/ ])(\d{1,3}(?:\.\d{1,3}){3})<', 1), '')])
            as address
    from line
    where host is not null
),
named as (
    select l.job_id, l.attempt, a.host,
        count(distinct coalesce(l.host, l.file_id::varchar)) as named_by, min(l.utc_ns) as named_ns,
        arg_min(l.file_id, (l.utc_ns, l.file_id, l.line_no)) as file_id,
        arg_min(l.line_no, (l.utc_ns, l.file_id, l.line_no)) as line_no
    from line as l
    join address as a on a.job_id = l.job_id and a.address = l.peer
        and a.host is distinct from l.host
    where l.peer is not null
        and not coalesce(l.ib_status in (select status from ib_status where is_echo), false)
    group by l.job_id, l.attempt, a.host
),
host as (
    select
        l.job_id, l.attempt, l.host, count(distinct l.rank) as rank_count,
        list_sort(list(distinct l.network) filter (where l.network <> '')) as networks,
        list_sort(
            list(
                distinct coalesce(nullif(regexp_extract(l.interface, 'OOB ([\w.-]+):', 1), ''),
                    regexp_extract(l.interface, '^(?:\[\d+\])?([\w.-]+):', 1)))
            filter (where l.interface is not null))
            as interfaces,
        list_sort(list(distinct l.nccl_version) filter (where l.nccl_version is not null))
            as nccl_versions,
        list_sort(list(distinct l.torch_version) filter (where l.torch_version is not null))
            as torch_versions,
        min(l.utc_ns)
            filter (
                where (contains(l.text, 'NCCL WARN') or l.rank_effect = 'lost_peer')
                    and not coalesce(s.is_echo, false))
                as trouble_ns,
        arg_min(l.text, (l.utc_ns, l.file_id, l.line_no))
            filter (
                where (contains(l.text, 'NCCL WARN') or l.rank_effect = 'lost_peer')
                    and not coalesce(s.is_echo, false))
                as trouble,
        arg_min(s.name || ': ' || s.meaning, (l.utc_ns, l.file_id, l.line_no))
            filter (where s.name is not null and not s.is_echo) as ib_meaning,
        arg_min(l.file_id, (l.utc_ns, l.file_id, l.line_no))
            filter (
                where (contains(l.text, 'NCCL WARN') or l.rank_effect = 'lost_peer')
                    and not coalesce(s.is_echo, false))
                as trouble_file_id,
        arg_min(l.line_no, (l.utc_ns, l.file_id, l.line_no))
            filter (
                where (contains(l.text, 'NCCL WARN') or l.rank_effect = 'lost_peer')
                    and not coalesce(s.is_echo, false))
                as trouble_line_no,
        max(l.latest_ns) as last_ns, min(l.file_id) as first_file_id,
        arg_min(l.line_no, (l.file_id, l.line_no)) as first_line_no
    from line as l
    left join ib_status as s on s.status = l.ib_status
    where l.host is not null
    group by l.job_id, l.attempt, l.host
)
select
    h.job_id, h.attempt, h.host, h.rank_count, h.networks, h.interfaces, h.nccl_versions,
    h.torch_versions,
    case when h.trouble_ns is not null
        or n.named_by is not null
            then row_number()
                over (partition by h.job_id, h.attempt
                    order by least(h.trouble_ns,
                        case when h.trouble_ns is null then n.named_ns - 1 end) nulls last,
                    h.host)::integer end
        as stop_no,
    make_timestamp_ns(h.trouble_ns) as trouble_at, h.trouble, h.ib_meaning,
    coalesce(n.named_by, 0) as named_by, make_timestamp_ns(h.last_ns) as last_seen_at, n.named_ns,
    h.last_ns,
    coalesce(h.trouble_file_id, n.file_id, h.first_file_id) as file_id,
    case when h.trouble_file_id is not null then h.trouble_line_no
        when n.file_id is not null then n.line_no else h.first_line_no end
        as line_no
from host as h
left join named as n on n.job_id = h.job_id and n.attempt = h.attempt and n.host = h.host
