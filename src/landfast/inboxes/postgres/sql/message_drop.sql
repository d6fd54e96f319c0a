DELETE FROM landfast.message WHERE id = $1 AND sink = $2
