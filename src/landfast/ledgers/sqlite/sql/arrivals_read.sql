-- The event that this effect stands for, if one was handled since :back microseconds before it was staged.
SELECT arrival.event
FROM landfast_arrival AS arrival
JOIN landfast_effect AS effect ON effect.key = :key AND effect.run = :run
WHERE arrival.key = :arrival AND arrival.handled_at >= effect.created_at - :back
