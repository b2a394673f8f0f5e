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
        (true, 0.0, 0.69, '10 of 10 such answers were right, and 0 of 2 on incidents nobody had seen'),
        (true, 0.7, 0.93, '128 of 128 such answers were right, and 65 of 69 on incidents nobody had seen'),
        (true, 0.8, 0.96, '241 of 241 such answers were right, and 96 of 99 on incidents nobody had seen'),
        (false, 0.0, 0.56, '130 of 166 such answers were right, and 71 of 139 on incidents nobody had seen'),
        (false, 0.7, 0.76, '134 of 148 such answers were right, and 91 of 124 on incidents nobody had seen'),
        (false, 0.8, 0.79, '336 of 352 such answers were right, and 133 of 176 on incidents nobody had seen')
) as t(accuses, score_from, confidence, reason)
