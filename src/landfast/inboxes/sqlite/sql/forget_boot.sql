DELETE FROM boot WHERE boot = ?
