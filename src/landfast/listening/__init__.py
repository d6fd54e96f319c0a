"""`landfast listen`: what a hosted inbox receives, forwarded to a laptop over its admin API. No tunnel.

`hosted.py` asks the inbox, `journal.py` remembers what was forwarded, `local.py` posts to what listens here, and
`listener.py` is the loop. Blocking, in one thread: it does one thing at a time, and a Ctrl-C ends it anywhere.
"""
