"""Events sent on over HTTP, to a service in any language: signed, guarded, and judged by what it answers."""
