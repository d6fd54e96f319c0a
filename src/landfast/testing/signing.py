"""Signed webhooks for tests: what each provider would send, without the provider."""

from landfast.providers.signing import sample, sign, signed_request

__all__ = ["sample", "sign", "signed_request"]
