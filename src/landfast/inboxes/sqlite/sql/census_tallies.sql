SELECT source, sum(received), sum(stored), sum(duplicate), sum(rejected) FROM tally GROUP BY source
