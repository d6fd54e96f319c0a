"""The protocol as small worlds that are explored whole: `python -m models` prints what holds and what breaks it."""
