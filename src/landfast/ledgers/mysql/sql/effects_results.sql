SELECT `key`, run, result FROM landfast_effect WHERE `key` = %(key)s AND run = %(run)s
