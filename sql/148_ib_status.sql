-- A status with which an InfiniBand or RoCE card ends a transfer, as NCCL prints it (`Got completion … with status=12`).
-- grain: one row a status
-- reads: nothing
-- stored: yes
-- note: Numbers and names are those of enum ibv_wc_status of rdma-core. is_echo: it follows another failure and is never the first trouble.
create or replace view ib_status as
select
    name,
    status,
    is_echo,
    meaning,
    advice
from (
    values
        ('IBV_WC_LOC_LEN_ERR', 1, false, 'a message was longer than the buffer that waited for it', 'The two sides disagree about sizes: look for ranks that called another collective or another NCCL version.'),
        ('IBV_WC_LOC_QP_OP_ERR', 2, false, 'the card found an inconsistent request of its own host', 'Driver and firmware of this host.'),
        ('IBV_WC_LOC_PROT_ERR', 4, false, 'memory that is not registered for the card', 'GPU direct and registration on this host: nvidia-peermem loaded, locked-memory limit unlimited, IOMMU and ACS off.'),
        ('IBV_WC_WR_FLUSH_ERR', 5, true, 'the request was thrown away because the connection had failed before', 'Look for the first status other than this, on any host.'),
        ('IBV_WC_BAD_RESP_ERR', 7, false, 'the peer answered something the card did not expect', 'Cables, switch and firmware between the two hosts.'),
        ('IBV_WC_LOC_ACCESS_ERR', 8, false, 'local memory may not be written', 'GPU direct and registration on this host.'),
        ('IBV_WC_REM_INV_REQ_ERR', 9, false, 'the peer refused the request as invalid', 'Buffers or NCCL versions differ between the two hosts; then firmware.'),
        ('IBV_WC_REM_ACCESS_ERR', 10, false, 'the peer''s memory may not be reached', 'The peer''s process may have ended or freed it: look at the peer first; then GPU direct there.'),
        ('IBV_WC_REM_OP_ERR', 11, false, 'the peer could not do its part', 'Look at the log and the kernel messages of the peer.'),
        ('IBV_WC_RETRY_EXC_ERR', 12, false, 'the peer did not acknowledge in all retries: it, its port or the path is gone', 'Whether the peer''s process or host had died before; else ibstat, ibdiagnet and the switch port of both hosts. NCCL_IB_TIMEOUT=22 only lengthens the wait.'),
        ('IBV_WC_RNR_RETRY_EXC_ERR', 13, false, 'the peer was reached and never ready to receive', 'The peer''s process is stuck or overloaded: take its stack.'),
        ('IBV_WC_REM_ABORT_ERR', 16, true, 'the peer ended the operation', 'Look at the peer.'),
        ('IBV_WC_FATAL_ERR', 19, false, 'the card itself failed', 'dmesg of this host (mlx5_core), then reset or replace the card.'),
        ('IBV_WC_RESP_TIMEOUT_ERR', 20, false, 'the card did not answer', 'dmesg of this host (mlx5_core), firmware.'),
        ('IBV_WC_GENERAL_ERR', 21, false, 'a transport error of no other kind', 'dmesg of both hosts.')
) as t(name, status, is_echo, meaning, advice)
