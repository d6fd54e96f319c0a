UPDATE shelf SET state = 'dead', reason = 'discarded', message = 'was held: ' || reason
WHERE body_seq = ? AND event_id = ? AND state = 'held'
