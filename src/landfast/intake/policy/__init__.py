"""Which senders are let in, how much they may send, and how many bytes those may hold who have proved nothing yet."""
