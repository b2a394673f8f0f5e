-- A conclusion that later ingestion changed.
-- grain: one row a failure, field and change
-- reads: conclusion
-- public: yes
-- note: because names the files whose arrival changed it.
create or replace view conclusion_change as
with step as (
    select
        failure_id, field, run_id, concluded_at, new_files,
        lag(value) over (partition by failure_id, field order by run_id) as was,
        value as now_is
    from conclusion
)
select
    failure_id,
    run_id,
    concluded_at as changed_at,
    field,
    was,
    now_is as "is",
    'ingested since: ' || coalesce(new_files, 'nothing new, the rules changed') as because
from step
where was is not null
