-- What is concluded of a failure now, field by field, for comparison with what was concluded
-- before.
-- grain: one row a failure and field
-- reads: failure, failure_node, root_cause, ingested_file, ingest_log
create or replace view current_conclusion as
with run as (
    select max(run_id) as run_id from ingest_log
),
arrived as (
    select string_agg(label, ', ' order by label) as new_files
    from (
        select count(*)::varchar || ' ' || replace(kind, '_', ' ')
            || case when count(*) > 1 then 's' else '' end || ' ('
            || min(regexp_replace(path, '^.*/', ''))
            || case when count(*) > 1 then ', …' else '' end || ')' as label
        from ingested_file
        where run_id = (select run_id from run) and state = 'ingested'
        group by kind
    )
),
node as (
    select failure_id, string_agg(node_id, ', ' order by position, node_id) as node_ids
    from failure_node
    group by failure_id
)
select
    f.failure_id,
    u.field,
    case u.field
        when 'failure_class' then f.failure_class
        when 'storage_verdict' then f.storage_verdict
        when 'failure_kind' then coalesce(f.failure_kind, 'none')
        when 'confidence' then f.confidence::varchar
        when 'chain' then coalesce(r.chain_id, 'none')
        when 'culprit_ranks'
            then coalesce(nullif(array_to_string(f.culprit_ranks, ', '), ''), 'none')
        else coalesce(n.node_ids, 'none')
    end as value,
    a.new_files
from failure as f
cross join (values ('failure_class'), ('storage_verdict'), ('failure_kind'), ('confidence'),
    ('culprit_ranks'), ('ais_nodes'), ('chain'))
    as u(field)
cross join arrived as a
left join node as n on n.failure_id = f.failure_id
left join root_cause as r on r.failure_id = f.failure_id and r.place = 1
