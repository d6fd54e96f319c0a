SELECT began_at, ended_at, coalesce(until, 0) > :now FROM retention
