DELETE FROM counted WHERE boot = ? RETURNING slot, source, stored, deliveries, again
