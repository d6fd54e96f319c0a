-- The event that this effect stands for, if one was handled since %(back)s microseconds before it was staged.
SELECT arrival.event
FROM landfast_arrival AS arrival
JOIN landfast_effect AS effect ON effect.`key` = %(key)s AND effect.run = %(run)s
WHERE arrival.`key` = %(arrival)s AND arrival.handled_at >= effect.created_at - INTERVAL %(back)s MICROSECOND
