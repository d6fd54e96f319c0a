DELETE FROM message WHERE id = ? AND sink = ?
