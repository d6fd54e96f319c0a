-- Where the pass of this holder is, while it has the turn.
SELECT phase, after_at, after_id FROM retention WHERE holder = :holder AND until > :now
