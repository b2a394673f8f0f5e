-- The hosts of a job by NCCL's and gloo's own lines: which stopped first, who names it, network, interface and versions, InfiniBand status in words.
select
    h.job_id,
    h.attempt,
    h.stop_no,
    h.host,
    h.rank_count,
    h.named_by,
    h.trouble_at,
    h.ib_meaning,
    array_to_string(h.networks, ', ') as networks,
    array_to_string(h.interfaces, ', ') as interfaces,
    array_to_string(h.nccl_versions, ', ') as nccl_versions,
    array_to_string(h.torch_versions, ', ') as torch_versions,
    h.last_seen_at,
    substr(h.trouble, 1, 160) as trouble,
    f.path || ':' || h.line_no::varchar as "where"
from nccl_host as h
join source_file as f on f.file_id = h.file_id
order by h.job_id, h.attempt, h.stop_no nulls last, h.host
