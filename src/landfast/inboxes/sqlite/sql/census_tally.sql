SELECT boot, source, received, stored, duplicate, rejected, elsewhere, requests_elsewhere FROM tally
