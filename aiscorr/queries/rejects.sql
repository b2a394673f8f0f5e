-- Lines that could not be understood, by reason and file.
select reason, path, count(*) as line_count, min(line_no) as line_no, any_value(text) as example
from reject
group by reason, path
order by line_count desc
