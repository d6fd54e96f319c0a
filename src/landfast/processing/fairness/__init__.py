"""Who of many gets a hand next, so that neither a backlog nor a hang of one delays another."""
