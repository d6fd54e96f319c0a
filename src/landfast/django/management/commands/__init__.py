"""`manage.py landfast`."""
