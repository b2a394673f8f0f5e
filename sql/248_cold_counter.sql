-- A counter of AIStore's targets that tells of reads from a remote backend: how many there were, or
-- how long they took together.
-- grain: one row a counter
-- reads: read_growth
-- stored: yes
-- note: Named by the backend (`aws.get.n`, `gcp.get.ns.total`; AIStore 3.30 to 5.3). measure: n
-- note: (requests) or ns (time).
create or replace view cold_counter as
select counter, split_part(counter, '.', 3) as measure
from (select distinct counter from read_growth
    where ends_with(counter, '.get.n') or ends_with(counter, '.get.ns.total'))
where regexp_matches(counter, '^[a-z]+\.get\.(n|ns\.total)$')
    and not regexp_matches(counter, '^(err|ratelim)\.')
