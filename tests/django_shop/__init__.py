"""A Django project for the tests: one app with the shop's orders, on whichever database a test brings."""
