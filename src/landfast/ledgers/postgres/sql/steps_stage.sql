-- Effects that are staged after others or for a time, and what each of them waits for. Those that wait are due at no time.
WITH staged AS (
    INSERT INTO landfast_ledger.effect
        (key, run, name, arguments, context, digest, handler, state, starts_at, waits, step, due_at)
    SELECT key, run, name, arguments, context, digest, handler, state,
        landfast_ledger.clock() + make_interval(secs => due_in), waits, step,
        CASE WHEN waits > 0 THEN 'infinity' ELSE landfast_ledger.clock() + make_interval(secs => coalesce(due_in, 0)) END
    FROM unnest(
        $1::text[], $2::integer[], $3::text[], $4::bytea[], $5::bytea[], $6::bytea[], $7::text[],
        $8::text[], $9::double precision[], $10::integer[], $11::bytea[]
    ) AS given (key, run, name, arguments, context, digest, handler, state, due_in, waits, step)
    ON CONFLICT (key, run) DO NOTHING
    RETURNING key, run
)
INSERT INTO landfast_ledger.effect_wait (key, run, awaited)
SELECT staged.key, staged.run, given.awaited
FROM unnest($12::text[], $13::integer[], $14::text[]) AS given (key, run, awaited)
JOIN staged ON staged.key = given.key AND staged.run = given.run
ON CONFLICT (key, run, awaited) DO NOTHING
