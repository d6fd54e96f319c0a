"""The child's side: what runs in an intake, a worker or a drainer process, and what ties it to its supervisor."""
