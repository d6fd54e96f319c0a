"""Sign in at an identity provider: OpenID Connect, the authorization code flow with PKCE (ADR 51)."""
