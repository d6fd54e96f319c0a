"""`landfast mcp`: the functions of the admin API as tools for an assistant, over the Model Context Protocol.

`messages.py` is JSON-RPC, `session.py` the protocol, `tools.py` the table of tools, `answers.py` what an assistant is
shown, `stdio.py` the two pipes. Nothing here knows how anything is done: that is `admin/`.
"""
