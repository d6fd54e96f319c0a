"""The nouns and rules of Landfast: pure, with no clock, no chance and no I/O. `now` is always an argument."""
