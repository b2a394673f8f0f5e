-- The tree of calls in which the ranks of a job stood when stacks were last taken: a row where
-- ranks part.
-- grain: one row a job and branch: a run of calls that the same ranks stood in
-- reads: stack_class
-- case: kept
-- note: calls that all ranks of a branch share are one row, from first_call to last_call. position
-- note: is the order to print rows in, indent how many branches lie outside.
create or replace view stack_tree as
with node as (
    select c.job_id, string_split(c.path, ' > ') as calls, unnest(range(1, c.depth + 1)) as depth,
        c.rank_count, c.ranks, c.activity, c.file_id, c.line_no
    from stack_class as c
),
prefix as (
    select job_id, calls[1:depth] as stem, any_value(depth) as depth, sum(rank_count) as rank_count,
        list_sort(flatten(list(ranks))) as ranks,
        case when count(distinct coalesce(activity, '')) = 1 then any_value(activity) end
            as activity,
        arg_min(file_id, ranks[1]) as file_id, arg_min(line_no, ranks[1]) as line_no
    from node
    group by job_id, calls[1:depth]
),
linked as (
    select p.*, coalesce(u.rank_count = p.rank_count, false) as is_same
    from prefix as p
    left join prefix as u on u.job_id = p.job_id and u.depth = p.depth - 1
        and u.stem = p.stem[1:p.depth - 1]
),
branch as (
    select l.*,
        (select count(*) from linked as u
            where u.job_id = l.job_id and not u.is_same and u.depth < l.depth
                and u.stem = l.stem[1:u.depth])
            as indent
    from linked as l
    where not l.is_same
),
ended as (
    select b.job_id, b.stem, max(l.depth) as last_depth, arg_max(l.stem, l.depth) as last_stem
    from branch as b
    join linked as l on l.job_id = b.job_id and l.rank_count = b.rank_count and l.depth >= b.depth
        and l.stem[1:b.depth] = b.stem
    group by b.job_id, b.stem
)
select
    b.job_id,
    (row_number() over (partition by b.job_id order by b.stem))::integer as position,
    b.indent::integer as indent,
    b.rank_count::integer as rank_count,
    b.ranks,
    b.stem[b.depth] as first_call,
    e.last_stem[e.last_depth] as last_call,
    (e.last_depth - b.depth + 1)::integer as call_count,
    b.activity,
    b.file_id,
    b.line_no
from branch as b
join ended as e on e.job_id = b.job_id and e.stem = b.stem
