-- The walk of a proof asks for a range of lines. The summary (brin) that was here told it too little: of two weeks with ten
-- million lines, each question about 2,000 of them read 45,000 pages. A tree costs every line some 20 bytes more.
DROP INDEX landfast.history_by_seq;
CREATE INDEX history_by_seq ON landfast.history (seq);
