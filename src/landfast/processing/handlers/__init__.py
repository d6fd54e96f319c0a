"""What is the user's: the functions that are registered, what they write on, where they run, what they raise."""
