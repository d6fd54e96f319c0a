-- :begins are the states that may become :state. :token is the one under which it is ours; NULL for an operator's.
UPDATE job
SET state = :state, token = NULL, leased_until = NULL, message = :message, updated_at = :now
WHERE id = :id AND state IN (SELECT value FROM json_each(:begins)) AND (:token IS NULL OR token = :token)
RETURNING id
