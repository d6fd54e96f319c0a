DELETE FROM tally WHERE boot = ?
RETURNING source, received, stored, duplicate, rejected, elsewhere, requests_elsewhere
