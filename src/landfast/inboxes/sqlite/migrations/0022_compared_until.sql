-- Up to where a source was compared without a gap, whatever a run of a shorter time did since. NULL: nothing is known.
ALTER TABLE reconciliation ADD COLUMN compared_until INTEGER;
