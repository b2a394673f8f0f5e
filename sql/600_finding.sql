-- What a rule says of a failure: fired, quiet, or blind because what it needs is missing.
-- grain: one row a failure and rule
-- reads: nothing
-- public: yes
-- case: kept
create or replace view finding as
with every as (
-- union of findings
)
select
    failure_id, finding, state, failure_class, failure_kind, storage_verdict, node_id, rank,
    chain_id, score, statement,
    supports::struct(file_id integer, line_no bigint, why varchar)[] as supports,
    contradicts::struct(file_id integer, line_no bigint, why varchar)[] as contradicts
from every
