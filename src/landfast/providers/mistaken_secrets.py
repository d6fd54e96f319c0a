"""What people paste in place of a signing secret: other keys of the same provider, known by how they begin."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Mistaken(NamedTuple):
    begins: str
    what: str
    wanted: str
    """What to copy instead, and where it is."""
    is_certain: bool
    """False where the sender takes any text for a secret, and so this one, too."""


_STRIPE = "the endpoint's signing secret, which begins with whsec_"
_SLACK = "the Signing Secret of the app's Basic Information"
_CLERK = "the endpoint's signing secret, which begins with whsec_"
_PADDLE = "the secret key of the notification destination, which begins with pdl_ntfset_"
_SHOPIFY = "the app's client secret, or the secret below the webhooks of the admin"
_GITHUB = "a random text of its own, as the webhook's secret"
_TOKENS = ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")

_MISTAKEN: Mapping[str, tuple[Mistaken, ...]] = MappingProxyType(
    {
        "stripe": (
            *(Mistaken(begins, "an API key of Stripe's", _STRIPE, True) for begins in ("sk_", "rk_", "pk_")),
            Mistaken("we_", "the id of an endpoint", _STRIPE, True),
        ),
        "slack": tuple(
            Mistaken(begins, "a token of Slack's", _SLACK, True) for begins in ("xoxb-", "xoxp-", "xoxe", "xapp-")
        ),
        "clerk": tuple(Mistaken(begins, "an API key of Clerk's", _CLERK, True) for begins in ("sk_", "pk_")),
        "paddle-billing": (
            *(Mistaken(begins, "an API key of Paddle's", _PADDLE, True) for begins in ("pdl_live_", "pdl_sdbx_")),
            Mistaken("ntfset_", "the id of a notification destination", _PADDLE, True),
        ),
        "shopify": tuple(
            Mistaken(begins, "an access token of Shopify's", _SHOPIFY, True)
            for begins in ("shpat_", "shpca_", "shppa_")
        ),
        "resend": (Mistaken("re_", "an API key of Resend's", "the webhook's signing secret, whsec_...", True),),
        "github": tuple(Mistaken(begins, "a token of GitHub's", _GITHUB, False) for begins in _TOKENS),
    }
)


def mistaken(provider: str, text: str) -> Mistaken | None:
    """What it is, if no webhook of this provider is signed with such a text."""
    return next((each for each in _MISTAKEN.get(provider, ()) if text.startswith(each.begins)), None)


def in_words(found: Mistaken) -> str:
    """It holds no more of the secret than how all of them begin."""
    return f"it begins with {found.begins}, so it is {found.what} and no signing secret; give {found.wanted}"
