UPDATE shelf SET state = 'dead', reason = 'discarded', message = 'was held: ' || reason
WHERE event_id = ? AND state = 'held'
