-- How sure an answer is whose best hypothesis has a score: how often such answers were right on incidents of known truth.
-- grain: one row a step of scores
-- reads: nothing
-- note: A score says how strongly a rule fired, not how often it is right. Counted on generated incidents (benchmarks/accuracy, `fit`) and drawn to 80 % where answers are few, because rules fare better on the incidents they were made on. Right is the answer as a whole: verdict, culprits and class.
create or replace view confidence_step as
select
    score_from,
    confidence,
    reason
from (
    values
        (0.0, 0.8, 'preliminary'),
        (0.6, 0.87, 'preliminary'),
        (0.7, 0.92, 'preliminary'),
        (0.8, 0.96, 'preliminary'),
        (0.9, 0.97, 'preliminary')
) as t(score_from, confidence, reason)
