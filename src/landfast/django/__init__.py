"""Landfast in a Django project: `INSTALLED_APPS += ["landfast.django"]`. docs/howto/django.md shows the whole of it.

Nothing is imported here, because Django imports this package before its apps are ready.
"""
