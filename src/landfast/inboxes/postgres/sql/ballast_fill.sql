INSERT INTO landfast.ballast_laid (laid) SELECT 1 FROM generate_series(1, $1::bigint)
