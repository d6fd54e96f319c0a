"""What the explanations rest on, where that is a program."""
