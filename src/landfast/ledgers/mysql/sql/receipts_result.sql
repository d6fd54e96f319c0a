UPDATE landfast_receipt SET result = %(result)s
WHERE digest = %(digest)s AND handler = %(handler)s AND run = %(run)s
