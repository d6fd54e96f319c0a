"""The admin API, and the pages on it: what an operator's commands do, over HTTP.

`questions/` look, `commands/` change: plain async functions over a `Desk`. `routes.py` is the table of all of them, and
the only place that knows their paths. `app.py` serves the table.
"""
