-- A rank whose host NCCL has on an address to which no other rank could connect.
-- grain: one row a rank of an attempt in which all ranks that could not connect name one address
-- reads: worker_event
-- stored: yes
-- note: NCCL takes the first interface that is up, which may be one that leads nowhere (the USB network of a service processor, a bridge of containers), unless NCCL_SOCKET_IFNAME names one; with NCCL_DEBUG=INFO it says which (NCCL 2.4 to 2.28). None where a rank of that address could not connect to it either: then something else is in the way. A line that names no rank is of the one that its device has on its host, where the file has a host's number.
create or replace view unreached_rank as
with missed as (
    select job_id, attempt, rank, regexp_replace(json_extract_string(capture, '$.peer_address'), '^\[|[\]<].*$', '', 'g') as address
    from worker_event
    where pattern = 'nccl_connect_failed' and rank is not null
    qualify count(distinct address) over (partition by job_id, attempt) = 1 and count(distinct rank) over (partition by job_id, attempt) > 1
),
used as (
    select job_id, attempt, rank, worker_node_no, json_extract_string(capture, '$.cuda_device')::integer as device, file_id, line_no, text,
        max(device) over (partition by job_id, attempt) + 1 as ranks_per_node,
        regexp_extract(json_extract_string(capture, '$.interface'), '(?:^|[:;/ ])(\d{1,3}(?:\.\d{1,3}){3})<', 1) as address
    from worker_event
    where pattern = 'nccl_network_used'
),
holder as (
    select distinct on (job_id, attempt, coalesce(rank, worker_node_no * ranks_per_node + device))
        job_id, attempt, coalesce(rank, worker_node_no * ranks_per_node + device) as rank, address, file_id, line_no, text
    from used
    where address <> '' and coalesce(rank, worker_node_no * ranks_per_node + device) is not null
    order by file_id, line_no
)
select h.job_id, h.attempt, h.rank, h.address, h.file_id, h.line_no, h.text
from holder as h
where exists (from missed as m where m.job_id = h.job_id and m.attempt = h.attempt and m.address = h.address)
    and not exists (from missed as m join holder as o on o.job_id = m.job_id and o.attempt = m.attempt and o.rank = m.rank and o.address = m.address where m.job_id = h.job_id and m.attempt = h.attempt)
