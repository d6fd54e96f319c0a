INSERT INTO landfast_effect (key, run, name, arguments, context, digest, handler, due_at, created_at)
VALUES (:key, :run, :name, :arguments, :context, :digest, :handler, :now, :now)
ON CONFLICT (key, run) DO NOTHING
