SELECT seq FROM landfast.mark WHERE name = 'done' FOR UPDATE
