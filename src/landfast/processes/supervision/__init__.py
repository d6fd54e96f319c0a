"""The supervisor's side: which processes there are, how each is started, kept alive, replaced and ended."""
