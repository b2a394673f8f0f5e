-- A file to open first, and why.
-- grain: one row a failure and file
-- reads: evidence, failure_chain, get_batch_chain_step, ingested_file, ais_file
-- case: kept
create or replace view key_file as
with cited as (
    select failure_id, path, file_id, why, case kind when 'supports' then 1 else 3 end as position
    from evidence
    where place = 1
    union all
    select c.failure_id, f.path, s.file_id, 'steps of chain ' || c.chain_id as why, 2 as position
    from failure_chain as c
    join get_batch_chain_step as s on s.chain_id = c.chain_id
    join ingested_file as f on f.file_id = s.file_id
    where c.is_verdict
)
select
    c.failure_id,
    c.path,
    string_agg(distinct c.why, '; ' order by c.why) as why,
    min(c.position)::integer as position,
    count(*) filter (where c.position = 1) as evidence_count,
    count(*) as line_count,
    any_value(s.kind) as kind,
    any_value(coalesce(a.node_id, s.node_id)) as node_id,
    c.file_id
from cited as c
join ingested_file as s on s.file_id = c.file_id
left join ais_file as a on a.file_id = c.file_id
group by c.failure_id, c.path, c.file_id
