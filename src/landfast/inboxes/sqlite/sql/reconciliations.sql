SELECT source, begun_at, since, place, listed, missing, taken, ended_at, held_until, error,
       token IS NOT NULL AND held_until > :now, compared_until
FROM reconciliation
ORDER BY source
