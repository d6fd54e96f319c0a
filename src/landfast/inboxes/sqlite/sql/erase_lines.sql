SELECT seq, attempts FROM history WHERE received_at = :received_at AND event_id = :event_id AND attempts <> '[]'
