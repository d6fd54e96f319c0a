"""The seams: Protocols only. Every sentence of a port's docstring is a test in `landfast.testing.conformance`."""
