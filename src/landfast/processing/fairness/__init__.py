"""Which handler gets a hand next, so that neither the backlog nor the hang of one delays another."""
