UPDATE landfast.mark SET seq = $1 WHERE name = 'done'
