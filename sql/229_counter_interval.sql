-- The time in which the cumulative counters of a statistics line grew: since the line of the run
-- that prints them last.
-- grain: one row a statistics line for all counters that the line before prints too, and one for
-- grain: each other counter
-- reads: counter_sample, stats_reading
-- stored: yes
-- note: counter is null where the row is for all. The others are few: first sights in a run, where
-- note: before_* is the line itself, and what a cut line left out. A counter that every line of a
-- note: file prints from its first to its last is told by the number of its values, without looking
-- note: at each.
create or replace view counter_interval as
with printed as (
    select file_id, process_no, name, count(*) as value_count, min(line_no) as first_line_no,
        max(line_no) as last_line_no
    from counter_sample
    where name like '%.n' or name like '%.size' or name like '%.ns.total'
        or name in ('getbatch.rxwait.ns', 'getbatch.throttle.ns')
    group by file_id, process_no, name
),
single as (
    select file_id from stats_reading group by file_id having bool_and(is_first_copy)
),
placed as (
    select
        p.*, a.cluster, a.node_id, a.process_seq, a.reading_no as first_no, b.reading_no as last_no,
        s.file_id is not null and a.process_seq is not distinct from b.process_seq
            and b.reading_no - a.reading_no + 1 = p.value_count as is_whole
    from printed as p
    join stats_reading as a on a.file_id = p.file_id and a.line_no = p.first_line_no
    join stats_reading as b on b.file_id = p.file_id and b.line_no = p.last_line_no
    left join single as s on s.file_id = p.file_id
),
stretch as (
    select cluster, node_id, process_seq, name, file_id, first_line_no, last_line_no, first_no,
        last_no
    from placed
    where is_whole
    union all
    select r.cluster, r.node_id, r.process_seq, c.name, c.file_id, c.line_no, c.line_no,
        r.reading_no, r.reading_no
    from placed as p
    join counter_sample as c on c.file_id = p.file_id and c.process_no = p.process_no
        and c.name = p.name
    join stats_reading as r on r.file_id = c.file_id and r.line_no = c.line_no
    where not p.is_whole and r.is_first_copy
),
ordered as (
    select
        *,
        lag(last_no) over same as before_no,
        lag(file_id) over same as before_file_id,
        lag(last_line_no) over same as before_line_no
    from stretch
    window same
        as (partition by cluster, node_id, process_seq, name order by first_no, file_id,
            first_line_no)
),
every as (
    select file_id, line_no, null as counter, prior_file_id as before_file_id,
        prior_line_no as before_line_no, false as is_first
    from stats_reading
    where prior_file_id is not null
    union all
    select file_id, first_line_no, name, coalesce(before_file_id, file_id),
        coalesce(before_line_no, first_line_no), before_no is null
    from ordered
    where before_no is null or first_no - before_no > 1
)
select
    e.file_id, e.line_no, e.counter, e.before_file_id, e.before_line_no, e.is_first, r.cluster,
    r.node_id, r.node_role, r.process_seq,
    make_timestamp_ns(
        case when e.is_first then coalesce(r.previous_ns, r.started_ns) else b.utc_ns end)
        as previous_at,
    r.sampled_at,
    case when e.is_first then coalesce(r.previous_ns, r.started_ns) else b.utc_ns end
        as previous_ns,
    r.utc_ns
from every as e
join stats_reading as r on r.file_id = e.file_id and r.line_no = e.line_no
join stats_reading as b on b.file_id = e.before_file_id and b.line_no = e.before_line_no
where r.is_counted and (not e.is_first or coalesce(r.previous_ns, r.started_ns) is not null)
