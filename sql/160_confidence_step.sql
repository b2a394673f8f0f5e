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
        (true, 0.0, 0.7, '2 of 2 such answers were right, and 1 of 3 on incidents nobody had seen'),
        (true, 0.7, 0.96, '48 of 48 such answers were right, and 35 of 35 on incidents nobody had seen'),
        (true, 0.8, 0.97, '119 of 119 such answers were right, and 52 of 52 on incidents nobody had seen'),
        (false, 0.0, 0.65, '56 of 58 such answers were right, and 42 of 70 on incidents nobody had seen'),
        (false, 0.7, 0.82, '52 of 57 such answers were right, and 40 of 49 on incidents nobody had seen'),
        (false, 0.8, 0.89, '150 of 150 such answers were right, and 96 of 108 on incidents nobody had seen')
) as t(accuses, score_from, confidence, reason)
