"""Where a delivery goes while the inbox is away, how it comes back, and what is no duplicate."""
