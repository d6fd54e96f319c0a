"""Keys that a provider publishes at an address of its own."""
