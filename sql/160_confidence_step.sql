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
        (true, 0.0, 0.7, '5 of 5 such answers were right, and 1 of 3 on incidents nobody had seen'),
        (true, 0.7, 0.97, '76 of 76 such answers were right, and 41 of 41 on incidents nobody had seen'),
        (true, 0.8, 0.98, '165 of 165 such answers were right, and 79 of 79 on incidents nobody had seen'),
        (false, 0.0, 0.63, '82 of 89 such answers were right, and 51 of 87 on incidents nobody had seen'),
        (false, 0.7, 0.78, '76 of 81 such answers were right, and 58 of 76 on incidents nobody had seen'),
        (false, 0.8, 0.9, '232 of 236 such answers were right, and 125 of 140 on incidents nobody had seen')
) as t(accuses, score_from, confidence, reason)
