"""The demo: a storm of deliveries, a naive shop that it drowns, and a shop on Landfast that it does not. Only `landfast
demo` imports it."""
