"""What `landfast top` draws, with textual. Nothing else imports it: textual is an extra."""
