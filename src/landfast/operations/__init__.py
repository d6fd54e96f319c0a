"""What an operator sees and does: plain functions over the ports, for commands and pages alike. Nothing here prints."""
