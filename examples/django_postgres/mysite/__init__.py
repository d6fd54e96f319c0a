"""A Django project."""
