"""Where a delivery is durable besides the inbox: a spool on this machine, a broker beside it."""
