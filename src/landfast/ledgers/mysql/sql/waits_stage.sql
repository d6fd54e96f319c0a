INSERT INTO landfast_effect_wait (`key`, run, awaited)
VALUES
-- for each
(%(key)s, %(run)s, %(awaited)s)
-- so far
ON DUPLICATE KEY UPDATE run = landfast_effect_wait.run
