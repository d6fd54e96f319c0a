-- In its place, with as many zeros: nothing is moved, so no copy is left.
UPDATE data_key SET wrapped = zeroblob(length(wrapped)) WHERE seq = :seq
