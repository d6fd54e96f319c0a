"""Half two of the path: claim -> receipt -> handle -> stage -> commit -> settle, then perform the effects.

The modules here are the path, in this order: `worker` has `hands`, which `claim`, `prepare`, `execute`, `group`,
`transact`, `invoke`, `judge`, `conclude` and `settle`. `work` and `findings` are their nouns. What stands beside the
path is below, by idea: `handlers`, `fairness`, `control`, `effects`.
"""
