-- On which target of AIStore an object belongs of which a rank was told that it does not exist, and
-- whether that one was away since the job began.
-- grain: one row a failure and object; of many the last 64
-- reads: rank_request, failure_case, cluster_extent, node, ais_event, node_fault, fault_kind,
-- reads: threshold
-- case: kept
-- note: AIStore places objects by rendezvous hashing (core/meta/hrw.go, 3.0 to 5.0): of the targets
-- note: of its map an object belongs to the one whose hash with the object's is largest, so nothing
-- note: moves between others when one leaves. Hashed are the target's id and
-- note: `ais/@#/BUCKET/OBJECT`, by XXH64 with seed 1103515245; two hashes make one by a step of
-- note: xoshiro256**. To rotate 64 bits is to multiply modulo 2^64 - 1. There is no row for buckets
-- note: of a backend or namespace, for names that are not ASCII, where fewer targets are known than
-- note: the map had, and where another target answered a plain read while the owner was there: then
-- note: the map was another, or the cluster places objects otherwise.
create or replace view object_owner as
with plain as (
    select cluster, any_value(node_id) as node_id,
        regexp_extract(text, 'ais://(\S+) does not exist: GET /v1/objects/', 1) as full_name
    from ais_event
    where pattern = 'ais_http_not_found' and full_name <> ''
    group by cluster, full_name
),
missed as (
    select r.failure_id, r.cluster, any_value(x.target_count) as target_count,
        any_value(f.began_ns) as began_ns, max(r.to_ns) as to_ns,
        max(t.node_id) filter (where contains(concat_ws(' ', r.url, r.text), '/v1/objects/'))
            as answered_id,
        coalesce(nullif(regexp_extract(r.text, 'ais://([^/\s"@#]+/.+?) does not exist', 1), ''),
            regexp_extract(if(r.outcome = 'missing', r.bucket, null), '^ais://([^/@#]+)$', 1)
                || '/' || r.object) as full_name
    from rank_request as r
    join cluster_extent as x on x.job_id = r.job_id and x.attempt = r.attempt
        and x.cluster = r.cluster
    left join failure_case as f on f.failure_id = r.failure_id
    left join node as t on t.cluster = r.cluster and t.node_id = r.node_id and t.role = 'target'
    where r.outcome in ('missing', 'retry', 'error', 'chained')
    group by r.failure_id, r.cluster, full_name
    having regexp_matches(full_name, '^[^/]+/.')
    qualify row_number()
        over (partition by r.failure_id order by max(r.to_ns) desc, full_name) <= 64
),
constant as (
    select 11400714785074694791::uhugeint as p1, 14029467366897019727::uhugeint as p2,
        1609587929392839161::uhugeint as p3, 9650029242287828579::uhugeint as p4,
        2870177450012600261::uhugeint as p5, 1103515245::uhugeint as seed,
        11400714819323198485::uhugeint as x1, 13787848793156543929::uhugeint as x2,
        10723151780598845931::uhugeint as x3, 18446744073709551616::uhugeint as m, m - 1 as q
),
name as (
    select 'ais/@#/' || full_name as name from missed
    union
    select node_id from node where role = 'target'
),
laned as (
    select name, strlen(name) as n, hex(encode(reverse(name))) as digits,
        list_transform(range(n // 8),
            lambda i: ('0x' || digits[2 * (n - 8 * i) - 15 : 2 * (n - 8 * i)])::ubigint::uhugeint)
            as lanes,
        list_transform(range(n // 8 * 8 + n % 8 // 4 * 4, n),
            lambda i: ('0x' || digits[2 * (n - i) - 1 : 2 * (n - i)])::ubigint::uhugeint) as bytes
    from name
    where strlen(name) = length(name)
),
striped as (
    select l.*, c.*,
        list_transform([(seed + p1 + p2) % m, (seed + p2) % m, seed, (seed + m - p1) % m],
            lambda v, j: list_reduce(lanes[j : n // 32 * 4 : 4],
                lambda a, l: (a + l * p2) % m * 2147483648 % q * p1 % m, v)) as v
    from laned as l
    cross join constant as c
),
begun as (
    select *,
        case when n < 32 then seed + p5
            else list_reduce(v,
                lambda h, a: (xor(h, a * p2 % m * 2147483648 % q * p1 % m) * p1 + p4) % m,
                (v[1] * 2 % q + v[2] * 128 % q + v[3] * 4096 % q + v[4] * 262144 % q) % m)
            end as h
    from striped
),
by_lane as (
    select * replace (list_reduce(lanes[n // 32 * 4 + 1 :],
        lambda h, l: (xor(h, l * p2 % m * 2147483648 % q * p1 % m) * 134217728 % q * p1 + p4) % m,
        (h + n::uhugeint) % m) as h)
    from begun
),
by_word as (
    select * replace (case when n % 8 < 4 then h else
        (xor(h, ('0x' || digits[2 * (n % 8) - 7 : 2 * (n % 8)])::ubigint::uhugeint * p1 % m)
            * 8388608 % q * p2 + p3) % m end as h)
    from by_lane
),
by_byte as (
    select * replace (list_reduce(bytes,
        lambda h, b: xor(h, b * p5 % m) * 2048 % q * p1 % m, h) as h)
    from by_word
),
hashed as (
    select name, xor(h, h >> 33) * p2 % m as x, xor(x, x >> 29) * p3 % m as y,
        xor(y, y >> 32) as hash
    from by_byte
),
mixed as (
    select o.failure_id, o.cluster, o.full_name, n.node_id,
        list_reduce([x2, x3, 1::uhugeint, x2, x3, 5::uhugeint],
            lambda z, f: (xor(z, z >> case f when x2 then 30 when x3 then 27 else 31 end::uhugeint)
                * f + case f when 1 then x1 else 0 end) % m,
            (xor(a.hash, b.hash) + x1) % m) * 128 % q * 9 % m as weight
    from missed as o
    join node as n on n.cluster = o.cluster and n.role = 'target'
    join hashed as a on a.name = 'ais/@#/' || o.full_name
    join hashed as b on b.name = n.node_id
    cross join constant as c
),
first as (
    select failure_id, cluster, full_name, arg_max(node_id, weight) as node_id,
        count(*) as known_count
    from mixed
    group by failure_id, cluster, full_name
)
select f.failure_id, f.cluster, regexp_extract(f.full_name, '^[^/]+') as bucket,
    regexp_extract(f.full_name, '/(.*)$', 1) as object, f.node_id,
    exists (from node_fault as n join fault_kind as k on k.fault_kind = n.fault_kind
        where k.takes_away and n.cluster = f.cluster and n.node_id = f.node_id
            and n.started_ns <= o.to_ns and n.ended_ns >= o.began_ns - t.value * 1e9) as is_away
from first as f
join missed as o on o.failure_id = f.failure_id and o.cluster = f.cluster
    and o.full_name = f.full_name and f.known_count >= o.target_count
left join plain as l on l.cluster = f.cluster and l.full_name = f.full_name
join threshold as t on t.name = 'fault_slack_s'
qualify not bool_or(not is_away
        and coalesce(coalesce(o.answered_id, l.node_id) <> f.node_id, false))
    over (partition by f.failure_id, f.cluster)
