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
        (true, 0.0, 0.71, '10 of 10 such answers were right, and 1 of 3 on incidents nobody had seen'),
        (true, 0.7, 0.93, '85 of 85 such answers were right, and 47 of 50 on incidents nobody had seen'),
        (true, 0.8, 0.99, '193 of 193 such answers were right, and 105 of 105 on incidents nobody had seen'),
        (false, 0.0, 0.62, '95 of 108 such answers were right, and 64 of 110 on incidents nobody had seen'),
        (false, 0.7, 0.77, '83 of 90 such answers were right, and 71 of 94 on incidents nobody had seen'),
        (false, 0.8, 0.85, '271 of 276 such answers were right, and 145 of 174 on incidents nobody had seen')
) as t(accuses, score_from, confidence, reason)
