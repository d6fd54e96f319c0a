"""The folder in which Django looks for commands."""
