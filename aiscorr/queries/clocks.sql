-- How the clock of every file became UTC, the least sure first.
select path, method, zone_offset_s, confidence, line_no, evidence
from clock
order by confidence, path
