"""Intake: from a request to an answer. The path is receive, verify, storable, record, answers; the rest is by idea."""
