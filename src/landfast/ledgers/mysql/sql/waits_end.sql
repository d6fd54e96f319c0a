-- What it waited for is nobody's concern any more, and may expire.
DELETE FROM landfast_effect_wait WHERE `key` = %(key)s AND run = %(run)s
