"""What people would pick instead, each written as its own documentation tells. Run in virtualenvs of their own."""
