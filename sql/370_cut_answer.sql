-- Answers of storage that ended in the middle without a reset or a time-out: their server closed them.
-- grain: one row a rank of a failure that met such answers
-- reads: rank_request
-- case: yes
create or replace view cut_answer as
select failure_id, rank, count(*) as cut_count, arg_min(file_id, (file_id, line_no)) as file_id, arg_min(line_no, (file_id, line_no)) as line_no
from (
    select distinct failure_id, rank, file_id, line_no
    from rank_request
    where outcome in ('retry', 'error') and regexp_matches(text, 'IncompleteRead|ended (early|prematurely)|payload is not completed|bytes remaining to read|complete message body|got only \d+ out of|exit 18 \(read|curlCode: 18') and not regexp_matches(text, '(?i)reset by peer|timed out|broken pipe')
)
group by failure_id, rank
