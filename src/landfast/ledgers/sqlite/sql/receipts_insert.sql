INSERT INTO landfast_receipt (digest, handler, run, outcome, result, created_at)
VALUES (:digest, :handler, :run, :outcome, :result, :now)
ON CONFLICT (digest, handler, run) DO NOTHING
