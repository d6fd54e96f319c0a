-- The partitions of last week, this one and `weeks` to come; how many were made. Whatever has no partition yet goes to
-- the default one, so being late costs only a slower clean-up.
-- A partition is made apart and then attached. To create it in its place would lock out intake, for as long as it waits
-- behind whoever reads: a backup does so for hours. Attaching waits for readers of the default partition alone, which
-- intake does not touch; workers wait with it, so it gives up after 50 ms, and the next day is early enough. While it is
-- attached the default partition is looked through, which holds something only if nobody has done this for a month.
CREATE OR REPLACE FUNCTION landfast.prepare(weeks integer) RETURNS integer LANGUAGE plpgsql
SET timezone = 'UTC' SET lock_timeout = '50ms' AS $$
DECLARE
    monday timestamptz;
    parent text;
    child text;
    is_taken boolean;
    made integer := 0;
BEGIN
    FOR week IN -1 .. weeks LOOP
        monday := date_trunc('week', landfast.clock()) + week * interval '7 days';
        FOREACH parent IN ARRAY ARRAY['body', 'history'] LOOP
            child := parent || to_char(monday, '_IYYY"w"IW');
            CONTINUE WHEN to_regclass('landfast.' || child) IS NOT NULL;
            EXECUTE format(
                'SELECT EXISTS (SELECT FROM landfast.%I WHERE received_at >= %L AND received_at < %L)',
                parent || '_default', monday, monday + interval '7 days'
            ) INTO is_taken;
            CONTINUE WHEN is_taken; -- rows of that week are in the default partition already: they stay there
            BEGIN
                EXECUTE format('CREATE TABLE landfast.%I (LIKE landfast.%I INCLUDING ALL)', child, parent);
                EXECUTE format(
                    'ALTER TABLE landfast.%I ATTACH PARTITION landfast.%I FOR VALUES FROM (%L) TO (%L)',
                    parent, child, monday, monday + interval '7 days'
                );
                made := made + 1;
            EXCEPTION
                WHEN check_violation THEN NULL; -- such a row came a moment ago
                WHEN unique_violation OR duplicate_table THEN NULL; -- another process was faster
            END;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
