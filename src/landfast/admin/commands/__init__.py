"""What operators change: one module for each subject. The operator log has each of them, before and after."""
