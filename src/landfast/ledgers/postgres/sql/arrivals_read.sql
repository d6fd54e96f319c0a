-- The event that this effect stands for, if one was handled since $4 seconds before it was staged.
SELECT arrival.event
FROM landfast_ledger.arrival AS arrival
JOIN landfast_ledger.effect AS effect ON effect.key = $2 AND effect.run = $3
WHERE arrival.key = $1 AND arrival.handled_at >= effect.created_at - make_interval(secs => $4)
