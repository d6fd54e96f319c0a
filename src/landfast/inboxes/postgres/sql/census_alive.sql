-- A boot reports every second; one that is silent for $1 seconds without having said goodbye is gone.
SELECT
    landfast.clock() AS now,
    count(*) FILTER (WHERE reported_at > landfast.clock() - make_interval(secs => $1)) AS running,
    count(*) FILTER (WHERE reported_at <= landfast.clock() - make_interval(secs => $1)) AS unclean,
    min(reported_at) FILTER (WHERE reported_at > landfast.clock() - make_interval(secs => $1)) AS heard_since
FROM landfast.boot WHERE NOT ended
