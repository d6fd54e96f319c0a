"""What operators ask: one module for each subject. Nothing here changes anything."""
