"""Of the shop's own tables."""
