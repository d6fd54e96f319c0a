DELETE FROM landfast_receipt
WHERE digest = %(digest)s AND handler = %(handler)s AND run = %(run)s
