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
        (true, 0.0, 0.81, '6 of 6 such answers were right, and 0 of 0 on incidents nobody had seen'),
        (true, 0.7, 0.89, '64 of 64 such answers were right, and 81 of 91 on incidents nobody had seen'),
        (true, 0.8, 0.96, '178 of 178 such answers were right, and 95 of 98 on incidents nobody had seen'),
        (false, 0.0, 0.58, '82 of 89 such answers were right, and 77 of 142 on incidents nobody had seen'),
        (false, 0.7, 0.73, '71 of 75 such answers were right, and 103 of 142 on incidents nobody had seen'),
        (false, 0.8, 0.73, '236 of 240 such answers were right, and 140 of 201 on incidents nobody had seen')
) as t(accuses, score_from, confidence, reason)
