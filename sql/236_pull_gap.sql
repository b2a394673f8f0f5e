-- A part of an AIStore node that `aiscorr pull` could not fetch, and why.
-- grain: one row a pull, node and part
-- reads: pull_miss
-- public: yes
-- note: part is all, node_status, info log or error log. A gap is closed by a later pull as far as
-- note: the node still keeps its logs; node_coverage says what is available.
create or replace view pull_gap as
select
    coalesce(cluster, 'unknown') as cluster,
    node_id,
    node_role,
    make_timestamp_ns(tried_ns) as tried_at,
    part,
    reason,
    file_id,
    line_no,
    tried_ns
from pull_miss
