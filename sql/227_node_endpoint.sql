-- An address of an AIStore daemon, so that a refused connection tells which node refused it.
-- grain: one row an address of a node and span of time
-- reads: ais_event, node_status
-- stored: yes
-- note: From the start lines of the node itself, from the cluster map that a pull saw, and from
-- note: lines that name both a node (tid=) and an address; who could not write an answer to a
-- note: client names the socket it wrote from, which is its own address.
create or replace view node_endpoint as
with stated as (
    select cluster, node_id, endpoint, utc_ns, file_id, line_no, 1 as rank
    from ais_event
    where pattern = 'ais_node_address' and endpoint is not null
    union all
    select cluster, regexp_extract(text, '[?&]tid=([A-Za-z0-9_-]+)', 1) as node_id, endpoint,
        utc_ns, file_id, line_no, 2 as rank
    from ais_event
    where endpoint is not null and contains(text, 'tid=')
    union all
    select cluster, peer_node_id as node_id, endpoint, utc_ns, file_id, line_no, 3 as rank
    from ais_event
    where endpoint is not null and peer_node_id is not null
        and chain_step in ('stream_break', 'node_loss', 'abort_notice', 'reconnect')
    union all
    select cluster, node_id, regexp_extract(text, '\bwrite tcp ([0-9.]+:\d+)->', 1) as endpoint,
        utc_ns, file_id, line_no, 4
    from ais_event
    where pattern in ('ais_client_gone', 'ais_get_batch_client_gone')
        and contains(text, 'write tcp ')
    union all
    select cluster, node_id, unnest([public_endpoint, control_endpoint, data_endpoint]), sampled_ns,
        file_id, line_no, 1
    from node_status
)
select
    cluster,
    endpoint,
    arg_min(node_id, (rank, utc_ns, file_id, line_no)) as node_id,
    min(utc_ns) as first_ns,
    max(utc_ns) as last_ns,
    arg_min(file_id, (rank, utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (rank, utc_ns, file_id, line_no)) as line_no
from stated
where node_id <> '' and endpoint <> ''
group by cluster, endpoint
