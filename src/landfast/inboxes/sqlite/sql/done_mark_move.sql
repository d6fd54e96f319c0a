UPDATE mark SET seq = ? WHERE name = 'done'
