SELECT RELEASE_LOCK(CONCAT('landfast ', MD5(DATABASE()))) AS given_back
