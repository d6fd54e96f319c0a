DELETE FROM rejection WHERE minute < :before
