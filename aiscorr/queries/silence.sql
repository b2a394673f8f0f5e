-- Ranks that fell silent while their peers spoke on (-p failure=ID).
select rank, last_word_at, peers_last_word_at, silent_s, activity, text, line_no
from rank_silence
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by silent_s desc
