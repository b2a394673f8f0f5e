-- Who could not connect to AIStore where no node of it explains that: a host cut off, a rank that
-- met many addresses, ranks that met one.
-- grain: one row a failure
-- reads: failure_case, culprit_cause, failure_coverage, rank_request, rank_host, node, node_fault,
-- reads: fault_kind, threshold
-- case: yes
-- note: is_cut: all ranks of one host, and none of another, got no connection to three hosts or
-- note: more. is_many: the culprit got none to three addresses or more, and to twice as many as
-- note: nodes were in trouble then. is_lone: some ranks of one host got none to one target, so that
-- note: what stands there may be the reason as well; is_shared: so may it where ranks of several
-- note: hosts got none to one and the same address.
create or replace view host_without_path as
with unreached as (
    select
        f.failure_id, r.rank, r.endpoint, r.from_ns, r.file_id, r.line_no, k.place, k.place_count,
        k.seen_count,
        r.from_ns between f.stall_ns - p.value::bigint * 1000000000 and f.ended_ns as is_inside,
        coalesce(n.role = 'target', r.node_id is null and contains(r.url, '/v1/objects/'), false)
            as is_target
    from failure_case as f
    join threshold as p on p.name = 'stall_reach_s'
    join rank_request as r on r.failure_id = f.failure_id and r.endpoint is not null
        and r.outcome in ('error', 'retry', 'chained')
            and r.to_ns >= f.stall_ns - p.value::bigint * 1000000000
        and regexp_matches(
            r.text || ' ' || coalesce(r.message, ''),
            '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable'
                '|NameResolutionError|(could not|failed to) resolve'
        )
    left join rank_host as k on k.job_id = f.job_id and k.attempt = f.attempt and k.rank = r.rank
    left join node as n on n.cluster = r.cluster and n.node_id = r.node_id
),
host as (
    select
        failure_id,
        count(distinct split_part(endpoint, ':', 1)) filter (where is_inside) as address_count,
        arg_min(file_id, (from_ns, file_id, line_no)) filter (where is_inside) as file_id,
        arg_min(line_no, (from_ns, file_id, line_no)) filter (where is_inside) as line_no,
        count(distinct rank) filter (where is_inside) as rank_count,
        coalesce(
            count(distinct place) filter (where is_inside) = 1
                and count(*) filter (where is_inside and place is null) = 0
                and rank_count > 1 and rank_count = min(place_count) filter (where is_inside)
                    and address_count > 2
                and min(seen_count) filter (where is_inside) > min(place_count)
                    filter (where is_inside),
                false
        ) as is_cut,
        coalesce(
            count(distinct endpoint) = 1 and bool_and(is_target) and count(distinct place) = 1
                and count(*) = count(place) and count(distinct rank) < min(place_count), false
        ) as is_lone,
        count(distinct endpoint) = 1 and count(distinct place) > 1 as is_shared
    from unreached
    group by failure_id
),
met as (
    select f.failure_id, v.cluster, f.stall_ns, f.spoke_ns,
        count(distinct r.endpoint) as endpoint_count
    from failure_case as f
    join failure_coverage as v on v.failure_id = f.failure_id
    join culprit_cause as u on u.failure_id = f.failure_id and u.culprit_no = 1
    join rank_request as r on r.failure_id = f.failure_id and r.rank = u.rank
        and r.outcome in ('retry', 'error') and r.to_ns >= f.stall_ns and r.from_ns <= f.spoke_ns
    where r.endpoint is not null and regexp_matches(
        r.text,
        'ConnectTimeout|NewConnectionError|(?i)connect(ion)? timed? ?out|dial tcp|failed to '
            'establish'
    )
    group by f.failure_id, v.cluster, f.stall_ns, f.spoke_ns
    having count(distinct r.endpoint) >= 3
),
many as (
    select m.failure_id
    from met as m
    left join (
        select n.cluster, n.node_id, n.started_ns, n.ended_ns
        from node_fault as n
        join fault_kind as k on k.fault_kind = n.fault_kind and not k.takes_connections
    ) as n on n.cluster = m.cluster and n.started_ns <= m.spoke_ns and n.ended_ns >= m.stall_ns
    group by m.failure_id, m.endpoint_count
    having m.endpoint_count > 2 * count(distinct n.node_id)
)
select
    coalesce(h.failure_id, m.failure_id) as failure_id,
    coalesce(h.is_cut, false) as is_cut,
    m.failure_id is not null as is_many,
    coalesce(h.is_lone, false) as is_lone,
    coalesce(h.is_shared, false) as is_shared,
    h.address_count,
    h.file_id,
    h.line_no
from host as h
full join many as m on m.failure_id = h.failure_id
where h.is_cut or h.is_lone or h.is_shared or m.failure_id is not null
