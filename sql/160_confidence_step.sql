-- How sure an answer is whose best hypothesis has a score: how often such answers were right on incidents of known truth.
-- grain: one row a step of scores, of answers that accuse storage and of others
-- reads: nothing
-- note: A score says how strongly a rule fired, not how often it is right. Counted on generated incidents (benchmarks/accuracy, `fit`); those that the rules were made on count for a tenth beside those that nobody had seen. Right is the answer as a whole: verdict, culprits and class.
create or replace view confidence_step as
select
    accuses,
    score_from,
    confidence,
    reason
from (
    values
        (true, 0.0, 0.8, '1 of 1 such answers were right, and 0 of 0 on incidents nobody had seen'),
        (true, 0.7, 0.87, '60 of 60 such answers were right, and 67 of 77 on incidents nobody had seen'),
        (true, 0.8, 0.96, '145 of 145 such answers were right, and 104 of 107 on incidents nobody had seen'),
        (false, 0.0, 0.56, '73 of 77 such answers were right, and 67 of 130 on incidents nobody had seen'),
        (false, 0.7, 0.73, '55 of 60 such answers were right, and 96 of 135 on incidents nobody had seen'),
        (false, 0.8, 0.74, '195 of 198 such answers were right, and 136 of 191 on incidents nobody had seen')
) as t(accuses, score_from, confidence, reason)
