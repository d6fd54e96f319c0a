"""What verifying costs: a body of 2 KB against two secrets, for every provider that signs with an HMAC."""

from __future__ import annotations

import hmac
import statistics
import time
from collections.abc import Callable

from bench.rows import Row
from bench.stage import Stage
from landfast.ports.provider import Secret
from landfast.providers.catalogue import PROFILES
from landfast.providers.profile import Profile
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.signing import signed_request

SLOWEST = "verify 2 KB with two secrets, the slowest provider with an HMAC of the body"
RATIO = "the same, to one bare HMAC"
SAMPLES = 5
BODY = b'{"note":"' + b"x" * 2037 + b'"}'
URL = "https://shop.example/in/source"


async def rows(stage: Stage) -> list[Row]:
    stage.say("verification")
    measured = [profile for profile in PROFILES.values() if _is_hmac_of_the_body(profile)]
    repeats = max(20, stage.sizes.repeats // len(measured))
    slowest, ratio = Row(SLOWEST, "us"), Row(RATIO, "x")
    for _ in range(SAMPLES):
        bare = _each(lambda: hmac.digest(b"the new secret of the source", BODY, "sha256"), repeats)
        took = {profile.name: _each(_verifying(profile), repeats) for profile in measured}
        name = max(took, key=lambda each: took[each])
        slowest.values.append(took[name] * 1e6)
        ratio.values.append(took[name] / bare)
        slowest.detail = {"providers": len(measured), "slowest": name, "stripe": round(took["stripe"] * 1e6, 2)}
        ratio.detail = {"hmac_microseconds": round(bare * 1e6, 2)}
    return [slowest, ratio]


def _is_hmac_of_the_body(profile: Profile) -> bool:
    scheme = profile.scheme
    return (
        isinstance(scheme, SignedScheme)
        and scheme.algorithm.startswith("sha")
        and scheme.signature.startswith("header:")
        and "{body}" in scheme.content
        and scheme.secret == "text"
        and not scheme.key_name
    )


def _verifying(profile: Profile) -> Callable[[], object]:
    secrets = (Secret("new", b"the new secret of the source"), Secret("old", b"the old secret of the source"))
    signed = signed_request(profile, BODY, secrets[1], now=time.time(), url=URL)
    head, body = signed.head(), signed.body
    return lambda: profile.verify(profile.present(head), head, body, secrets, url=signed.url)


def _each(function: Callable[[], object], repeats: int) -> float:
    took = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        for _ in range(repeats):
            function()
        took.append((time.perf_counter() - began) / repeats)
    return statistics.median(took)
