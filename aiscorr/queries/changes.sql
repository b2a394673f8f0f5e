-- What later logs changed in earlier conclusions.
select failure_id, changed_at, field, was, "is", because
from conclusion_change
order by changed_at desc, failure_id, field
