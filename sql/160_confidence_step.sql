-- How sure an answer is whose best hypothesis has a score: how often such answers were right on incidents of known truth.
-- grain: one row a step of scores
-- reads: nothing
-- note: A score says how strongly a rule fired, not how often it is right. Counted on generated incidents (benchmarks/accuracy, `fit`); those that the rules were made on count for a third beside those that nobody had seen. Right is the answer as a whole: verdict, culprits and class.
create or replace view confidence_step as
select
    score_from,
    confidence,
    reason
from (
    values
        (0.0, 0.76, '24 of 24 such answers were right, and 5 of 9 on incidents nobody had seen'),
        (0.6, 0.76, '8 of 8 such answers were right, and 2 of 4 on incidents nobody had seen'),
        (0.7, 0.87, '42 of 44 such answers were right, and 17 of 20 on incidents nobody had seen'),
        (0.8, 0.98, '102 of 102 such answers were right, and 44 of 44 on incidents nobody had seen'),
        (0.9, 0.98, '59 of 59 such answers were right, and 21 of 22 on incidents nobody had seen')
) as t(score_from, confidence, reason)
