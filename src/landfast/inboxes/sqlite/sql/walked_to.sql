SELECT seq FROM walk WHERE name = ?
