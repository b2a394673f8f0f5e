-- The bucket that an x-get-batch xaction was started for.
-- grain: one row a cluster and xaction
-- reads: ais_event
-- stored: yes
create or replace view xaction_bucket as
select cluster, xid, mode(bucket order by bucket) as bucket
from ais_event
where xid is not null and bucket is not null
group by cluster, xid
