"""What may start now, and who still holds what: breakers, switches, leases, suspects, and the loops that look."""
