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
with alike as (
    select job_id, attempt, rank, host, file_id,
        case when regexp_matches(capture, '"(host|network(_name)?|interface|(nccl|torch)_version)"')
            then capture end as told,
        count(*) as line_count, min(line_no) as line_no, max(latest_ns) as latest_ns
    from worker_event
    group by all
),
placed as (
    select *, coalesce(nullif(json_extract_string(told, '$.host'), ''), host) as own_host
    from alike
),
rank_host as (
    select job_id, attempt, rank, arg_min(own_host, (-line_count, own_host)) as host
    from (
        select job_id, attempt, rank, own_host, sum(line_count) as line_count
        from placed
        where rank is not null and own_host is not null and own_host <> 'localhost'
        group by all
    )
    group by job_id, attempt, rank
),
line as (
    select
        p.job_id, p.attempt, coalesce(p.own_host, h.host) as host, p.rank, p.latest_ns, p.file_id,
        p.line_no,
        coalesce(json_extract_string(told, '$.network'),
            regexp_extract(json_extract_string(told, '$.network_name'), '^(\w+)', 1))
            as network,
        json_extract_string(told, '$.interface') as interface,
        json_extract_string(told, '$.nccl_version') as nccl_version,
        json_extract_string(told, '$.torch_version') as torch_version
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
trouble as (
    select
        e.job_id, e.attempt, e.utc_ns, e.file_id, e.line_no, e.text,
        coalesce(nullif(json_extract_string(e.capture, '$.host'), ''), e.host, h.host) as host,
        contains(e.text, 'NCCL WARN') or e.rank_effect = 'lost_peer' as is_sign,
        regexp_replace(json_extract_string(e.capture, '$.peer_address'), '^\[|[\]<].*$', '', 'g')
            as peer,
        s.name, s.meaning, coalesce(s.is_echo, false) as is_echo
    from worker_event as e
    left join rank_host as h on h.job_id = e.job_id and h.attempt = e.attempt and h.rank = e.rank
    left join ib_status as s
        on s.status = try_cast(json_extract_string(e.capture, '$.ib_status') as integer)
    where contains(e.text, 'NCCL WARN') or e.rank_effect = 'lost_peer'
        or regexp_matches(e.capture, '"(peer_address|ib_status)"')
),
named as (
    select t.job_id, t.attempt, a.host,
        count(distinct coalesce(t.host, t.file_id::varchar)) as named_by, min(t.utc_ns) as named_ns,
        arg_min(t.file_id, (t.utc_ns, t.file_id, t.line_no)) as file_id,
        arg_min(t.line_no, (t.utc_ns, t.file_id, t.line_no)) as line_no
    from trouble as t
    join address as a on a.job_id = t.job_id and a.address = t.peer
        and a.host is distinct from t.host
    where t.peer is not null and not t.is_echo
    group by t.job_id, t.attempt, a.host
),
troubled as (
    select
        job_id, attempt, host, min(utc_ns) filter (where is_sign and not is_echo) as utc_ns,
        arg_min(text, (utc_ns, file_id, line_no)) filter (where is_sign and not is_echo) as text,
        arg_min(file_id, (utc_ns, file_id, line_no)) filter (where is_sign and not is_echo)
            as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) filter (where is_sign and not is_echo)
            as line_no,
        arg_min(name || ': ' || meaning, (utc_ns, file_id, line_no))
            filter (where name is not null and not is_echo) as ib_meaning
    from trouble
    where host is not null
    group by job_id, attempt, host
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
        max(l.latest_ns) as last_ns, min(l.file_id) as first_file_id,
        arg_min(l.line_no, (l.file_id, l.line_no)) as first_line_no
    from line as l
    where l.host is not null
    group by l.job_id, l.attempt, l.host
)
select
    h.job_id, h.attempt, h.host, h.rank_count, h.networks, h.interfaces, h.nccl_versions,
    h.torch_versions,
    case when t.utc_ns is not null
        or n.named_by is not null
            then row_number()
                over (partition by h.job_id, h.attempt
                    order by least(t.utc_ns,
                        case when t.utc_ns is null then n.named_ns - 1 end) nulls last,
                    h.host)::integer end
        as stop_no,
    make_timestamp_ns(t.utc_ns) as trouble_at, t.text as trouble, t.ib_meaning,
    coalesce(n.named_by, 0) as named_by, make_timestamp_ns(h.last_ns) as last_seen_at, n.named_ns,
    h.last_ns,
    coalesce(t.file_id, n.file_id, h.first_file_id) as file_id,
    case when t.file_id is not null then t.line_no
        when n.file_id is not null then n.line_no else h.first_line_no end
        as line_no
from host as h
left join troubled as t
    on t.job_id = h.job_id and t.attempt is not distinct from h.attempt and t.host = h.host
left join named as n on n.job_id = h.job_id and n.attempt = h.attempt and n.host = h.host
