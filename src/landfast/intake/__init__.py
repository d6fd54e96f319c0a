"""Intake: from a request to an answer. The path is receive, verify, identify, record, answers; the rest is by idea."""
