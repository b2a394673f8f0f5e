-- The storage nodes of the site, in clusters of equal size; the first may have a name that is
-- given.
create or replace temporary table node as
select
    n::integer as node_no,
    printf('m%03dt%03d', n, n) as node_id,
    case when n < $cluster_size and $first_cluster is not null then $first_cluster
        else printf('month%04d', n // $cluster_size) end as cluster,
    printf('ais-target-%d', n) as host,
    printf('/var/log/ais/%04d/m%03dt%03d', n // $cluster_size, n, n) as folder
from range($node_count) as nodes(n)
