DELETE FROM meter WHERE boot = ? RETURNING name, value
