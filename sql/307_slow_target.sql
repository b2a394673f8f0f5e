-- A span in which a target served reads far slower than before, and than any other target did at
-- that time.
-- grain: one row a target and span
-- reads: read_growth, threshold
-- stored: yes
-- note: Compared are nanoseconds a byte and a read, by the statistics lines; of a target that had
-- note: read next to nothing before ten times as much is asked. One reader that pauses draws one
-- note: read out, which is counted in one line when it ends: so several lines in a row, and more
-- note: than one read's worth, are needed for is_lasting.
create or replace view slow_target as
with slow as (
    select g.file_id, g.line_no, g.cluster
    from read_growth as g
    join threshold as c on c.name = 'crawl_s'
    where g.node_role = 'target' and g.backend is null and g.read_count >= 3
        and g.took_ns >= c.value * 1e9 * g.read_count
),
cold as (
    select file_id, line_no, min(previous_ns) as previous_ns, sum(took_ns) as took_ns,
        sum(read_count) as read_count
    from read_growth
    where backend is not null
    group by file_id, line_no
),
rate as (
    select
        g.* replace (least(g.previous_ns, c.previous_ns) as previous_ns),
        coalesce(c.took_ns, 0) as cold_ns, c.read_count as cold_count,
        g.took_ns / g.read_count as mean_ns, g.took_ns / g.byte_count as pace
    from read_growth as g
    semi join slow as s on s.cluster = g.cluster
    left join cold as c on c.file_id = g.file_id and c.line_no = g.line_no
    where g.node_role = 'target' and g.backend is null and g.read_count > 0 and g.took_ns > 0
        and g.byte_count > 0
),
beside as (
    select r.cluster, r.node_id, r.utc_ns, sum(p.took_ns) / sum(p.byte_count) as peer_pace,
        sum(p.took_ns) / sum(p.read_count) as peer_ns,
        max(p.pace) filter (where p.mean_ns >= c.value * 2e8) as worst_pace
    from rate as r
    join slow as l on l.file_id = r.file_id and l.line_no = r.line_no
    join threshold as c on c.name = 'crawl_s'
    join rate as p on p.cluster = r.cluster and p.node_id <> r.node_id
        and p.utc_ns > r.previous_ns - r.mean_ns and p.previous_ns < r.utc_ns
    where r.cold_ns < r.took_ns / 2 and coalesce(r.cold_ns / r.cold_count < r.mean_ns / 2, true)
    group by r.cluster, r.node_id, r.utc_ns
    having count(distinct p.node_id) >= 2
),
placed as (
    select r.*, b.peer_pace, b.peer_ns, f.value as factor, c.value * 1e9 as crawl_ns,
        r.read_count >= 3 as is_many,
        coalesce(r.pace >= f.value * b.peer_pace
            and r.pace >= f.value / 2 * coalesce(b.worst_pace, 0), false)
            as is_lame
    from rate as r
    join threshold as f on f.name = 'slow_target_factor'
    join threshold as c on c.name = 'crawl_s'
    left join beside as b on b.cluster = r.cluster and b.node_id = r.node_id and b.utc_ns = r.utc_ns
),
aged as (
    select p.*,
        count(*) filter (where p.is_usual) over before as line_count,
        sum(p.read_count) filter (where p.is_usual) over before as before_count,
        sum(p.took_ns) filter (where p.is_usual) over before / before_count as sum_ns,
        sum(p.took_ns) filter (where p.is_usual) over before / sum(p.byte_count)
            filter (where p.is_usual) over before as sum_pace,
        p.byte_count <= p.whole_bytes * p.read_count and line_count >= 3 as is_whole,
        case
            when is_whole
                then least(sum_ns, median(p.mean_ns) filter (where p.is_usual) over lately)
            else sum_ns end
            as usual_ns,
        case
            when is_whole then least(sum_pace, median(p.pace) filter (where p.is_usual) over lately)
            else sum_pace end
            as usual_pace
    from (select r.*, t.value as whole_bytes, not r.is_lame
        and (r.is_many or r.mean_ns < r.crawl_ns or r.byte_count > t.value * r.read_count)
            as is_usual
        from placed as r join threshold as t on t.name = 'whole_read_bytes')
        as p
    window before
        as (partition by p.cluster, p.node_id order by p.utc_ns, p.file_id,
            p.line_no rows between unbounded preceding and 1 preceding),
        lately
            as (partition by p.cluster, p.node_id order by p.utc_ns, p.file_id,
                p.line_no rows between 360 preceding and 1 preceding)
),
alone as (
    select cluster, node_id, utc_ns, previous_ns - mean_ns::bigint as started_ns, mean_ns,
        case when before_count >= 3 then usual_ns end as usual_ns, peer_ns, read_count, file_id,
        line_no
    from aged
    where is_lame
        and case when before_count >= 3 then pace >= factor * usual_pace and mean_ns >= 2 * usual_ns
            else pace >= 10 * factor * peer_pace end
),
numbered as (
    select a.*,
        sum(case when a.is_new then 1 else 0 end)
            over (partition by a.cluster, a.node_id order by a.utc_ns) as span_no
    from (
        select a.*,
            coalesce(a.started_ns - lag(a.utc_ns)
                over (partition by a.cluster, a.node_id order by a.utc_ns) > p.value * 1000000000,
                true)
                as is_new
        from alone as a
        join threshold as p on p.name = 'fault_gap_s'
    ) as a
)
select
    cluster, node_id,
    min(started_ns) as started_ns,
    min(utc_ns - mean_ns::bigint) as known_ns,
    max(utc_ns) as ended_ns,
    count(*) > 1
        and sum(mean_ns * read_count)
            >= (select value * 1e9 from threshold where name = 'drawn_out_s')
            as is_lasting,
    sum(read_count)::bigint as read_count,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    'reads took ' || round(sum(mean_ns * read_count) / sum(read_count) / 1e9)::bigint::varchar
        || ' s on average (' || sum(read_count)::bigint::varchar || ' in this time), '
        || coalesce(round(arg_min(usual_ns, utc_ns) / 1e9, 1)::varchar || ' s before, ', '')
        || round(arg_min(peer_ns, utc_ns) / 1e9, 1)::varchar || ' s at the other targets' as text
from numbered
group by cluster, node_id, span_no
