SELECT seq FROM mark WHERE name = ?
