"""Endpoints: sources whose callers want an answer. `calls` is what a call must have, `problems` what a caller is told
that gets none, `desk` where callers wait, and `stored_answers` where their answers are found."""
