"""The admin API: who may ask what, what comes out, and what never does."""
