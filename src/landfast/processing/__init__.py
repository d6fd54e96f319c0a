"""Half two of the path: claim -> receipt -> handle -> stage -> commit -> settle, then perform the effects."""
