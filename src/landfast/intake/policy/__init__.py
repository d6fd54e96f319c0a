"""Who may send, how much, and how much anybody may hold who has proved nothing yet."""
