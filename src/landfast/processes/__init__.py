"""The processes of one machine: intake and workers apart, so that no handler can ever delay an acknowledgement."""
