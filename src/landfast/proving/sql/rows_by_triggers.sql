-- What the temporary triggers of a rehearsal have counted.
SELECT name, verb, n FROM landfast_rehearsal
