"""A page for each provider and a table of all, drawn from the catalogue: what it says is what intake does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from landfast.domain.delivery import siblings_in_words
from landfast.providers.catalogue import PROFILES
from landfast.providers.coverage import unsigned_headers
from landfast.providers.handshake import Handshake, Proof
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Redelivery
from landfast.providers.samples import sample_types
from landfast.providers.schemes import Scheme
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.ebay import EbayScheme
from landfast.providers.schemes.jws import JwsScheme
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.paypal import PayPalScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.sns import SnsScheme
from landfast.providers.schemes.token import TokenScheme

_LANGUAGE = "../describing-a-provider.md"
_UNITS = (("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def provider_pages() -> dict[str, str]:
    profiles = sorted(PROFILES.values(), key=lambda profile: profile.title.lower())
    return {"providers.md": _table(profiles)} | {f"providers/{each.name}.md": _page(each) for each in profiles}


def _table(profiles: Sequence[Profile]) -> str:
    lines = [
        "# Providers",
        "",
        f"{len(profiles)} of them, drawn from `src/landfast/providers/catalogue`. Any other sender can be described in",
        "`landfast.toml`, or by the `generic` provider: [how](describing-a-provider.md).",
        "",
        "**Body**: whether a changed body is noticed. Where it is not, a request proves who sent it and nothing more:",
        "ask the provider before you act on such an event. **Waits** and **tries for**: only what is published.",
        "",
        "| Provider | Name | Proof | Body | Handshake | Many in one | Waits | Tries for |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in profiles:
        cells = (
            f"[{each.title}](providers/{each.name}.md)",
            f"`{each.name}`",
            _proof(each.scheme),
            "yes" if each.coverage == "yes" else f"**{each.coverage}**",
            ", ".join(dict.fromkeys(handshake.method for handshake in each.handshakes)) or "",
            "yes" if each.items else "",
            _duration(each.redelivery.timeout),
            _window(each.redelivery),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _page(profile: Profile) -> str:
    sections = (
        [
            f"# {profile.title}",
            "",
            profile.setup,
            "",
            f"The address to give it: `https://YOUR-HOST/in/{profile.name}`.",
        ],
        ["```toml", *_configuration(profile), "```"],
        ["## The proof", "", *_scheme_lines(profile.scheme), *_time_lines(profile), *_body_line(profile)],
        ["## The event", "", *_event_lines(profile), "", f"([How these are written]({_LANGUAGE}).)"],
        _handshake_lines(profile),
        ["## Redelivery", "", *_redelivery_lines(profile)],
        ["## Traps", "", *[f"- {trap}" for trap in profile.traps]] if profile.traps else [],
        _try_lines(profile) if profile.samples and _can_be_signed(profile.scheme) else [],
    )
    return "\n\n".join("\n".join(lines).strip() for lines in sections if lines) + "\n"


def _try_lines(profile: Profile) -> list[str]:
    types = sample_types(profile)
    lines = ["## Try it", "", "```sh", f"landfast send {profile.name} {_quoted(profile.samples[0].type)}", "```"]
    if len(types) > 1:
        lines += ["", "There are samples of these types:", "", "```text", *types, "```"]
    return lines


def _configuration(profile: Profile) -> Iterator[str]:
    yield f"[sources.{profile.name}]"
    yield f'provider = "{profile.name}"'
    yield f'secrets = ["env:{profile.name.upper().replace("-", "_")}_WEBHOOK_SECRET"]'
    if profile.needs_url:
        yield f'public_url = "https://shop.example/in/{profile.name}"  # as you gave it to the provider: it is signed'
    for setting in profile.settings:
        yield f'{setting.removesuffix("?")} = "..."{"  # may be left out" if setting.endswith("?") else ""}'


def _proof(scheme: Scheme) -> str:
    match scheme:
        case AnyOf():
            return " or ".join(dict.fromkeys(_proof(each) for each in scheme.schemes))
        case SignedScheme():
            return _algorithm(scheme.algorithm)
        case TokenScheme():
            return "password" if scheme.is_basic else "token"
        case JwtScheme():
            return f"JWT ({', '.join(scheme.algorithms)})"
        case JwsScheme():
            return f"JWS ({scheme.algorithm})"
        case SnsScheme() | PayPalScheme():
            return "RSA, certificate by address"
        case EbayScheme():
            return "ECDSA"
    raise TypeError(f"no words for {type(scheme).__name__}")


def _algorithm(name: str) -> str:
    if name.startswith("sha"):
        return f"HMAC-{name.upper()}"
    kind, _, hash_ = name.partition("-")
    words = {"plain": "hash", "ed25519": "Ed25519", "ecdsa": "ECDSA", "rsa": "RSA"}
    return f"{words[kind]} {hash_.upper()}".strip()


def _scheme_lines(scheme: Scheme) -> list[str]:
    if isinstance(scheme, AnyOf):
        ways = ["; ".join(_scheme_facts(each)) for each in scheme.schemes]
        return ["Any of these, the first that is well formed:", "", *[f"- {way}" for way in ways]]
    return [f"- {fact}" for fact in _scheme_facts(scheme)]


def _scheme_facts(scheme: Scheme) -> list[str]:
    match scheme:
        case SignedScheme():
            written = f", after `{scheme.prefix}`" if scheme.prefix else ""
            parts = f", one of several between `{scheme.separator}`" if scheme.separator else ""
            return [
                f"{_algorithm(scheme.algorithm)} over `{scheme.content}`",
                f"in {_place(scheme.signature)}, as {scheme.encoding}{written}{parts}",
                *[f"the {part} is in {_place(place)}" for part, place in _signed_parts(scheme)],
                f"the secret is {_key_form(scheme)}",
            ]
        case TokenScheme():
            what = "user and password" if scheme.is_basic else "token"
            return [f"a {what} in {_place(scheme.token)}, as you chose it"]
        case JwtScheme():
            return list(_token_facts(scheme))
        case JwsScheme():
            return [f"a detached {_proof(scheme)} in the header `{scheme.header}`, over method, path, headers and body"]
        case SnsScheme():
            return [
                "RSA over fields of the body; the certificate is fetched from the address in it, if that is Amazon's",
                "the secret is the ARN of the topic: anybody with an account can have messages signed",
            ]
        case PayPalScheme():
            return [
                "RSA over headers, the webhook's id and a CRC32 of the body; the certificate is fetched from PayPal",
                "the secret is the id of the webhook",
            ]
        case EbayScheme():
            return ["ECDSA over the body, in a header that is JSON in base64", "the secret is eBay's public key"]
    raise TypeError(f"no words for {type(scheme).__name__}")


def _signed_parts(scheme: SignedScheme) -> Iterator[tuple[str, str]]:
    if scheme.timestamp:
        yield "time", scheme.timestamp
    if scheme.id:
        yield "id", scheme.id


def _token_facts(scheme: JwtScheme) -> Iterator[str]:
    yield f"a {_proof(scheme)} in the header `{scheme.header}`"
    if scheme.body_claim:
        yield f"its claim `{scheme.body_claim}` holds the SHA-256 of the body"
    if scheme.keys:
        yield f"the keys are fetched from `{scheme.keys}`, and kept for an hour"


def _key_form(scheme: SignedScheme) -> str:
    if scheme.algorithm.startswith(("ed25519", "ecdsa", "rsa")):
        return "the provider's public key, as PEM, base64 or hex"
    return {
        "text": "used as it is shown",
        "base64": "base64",
        "whsec": "base64, with or without `whsec_`; one of 32 bytes needs it, because a public key has as many",
        "hex": "hexadecimal",
        "sha1": "hashed with SHA-1 first",
        "nfkd": "Unicode, letters and accents apart (NFKD)",
    }[scheme.secret]


def _time_lines(profile: Profile) -> Iterator[str]:
    is_timed = "timestamp" in repr(profile.scheme) and "timestamp=None" not in repr(profile.scheme)
    if (is_timed or profile.signed_at_place) and profile.tolerance < math.inf:
        yield f"- signed with its time, which may be {_duration(profile.tolerance)} away from our clock"


def _body_line(profile: Profile) -> Iterator[str]:
    covered = {"no": "does not cover the body", "checksum": "covers only a checksum of the body"}
    if profile.coverage != "yes":
        yield ""
        proof = f"**The proof {covered[profile.coverage]}.**"
        yield f"{proof} It says who sent the request, not that nobody changed it since."
    if not profile.proves_account:
        yield ""
        yield "**One key signs for all clients of this provider: it does not prove the account.** Give the source a"
        yield "name that cannot be guessed, and check in the handler that the object is yours."
    if profile.environments:
        yield ""
        chosen = " or ".join(f"`{one}`" for one in profile.environments)
        yield f"`environment` in the source is {chosen}, the first unless it says so; only the keys of that one count."
    if "arrival" in profile.key:
        yield ""
        yield "**Where it has no id, every arrival is an event**: who captured a request can have it handled again."
    if profile.signs_once:
        yield (
            "A proof counts for the first body that it comes with: an event with another body under it is "
            "[held](../../glossary.md)."
        )


def _size_line(profile: Profile) -> str:
    size = profile.body_limit // 1024
    limit = f"{size // 1024} MiB" if size >= 1024 else f"{size} KiB"
    return f"- a request has at most {limit}: a larger one is answered 413, unless `body_limit` of the source allows it"


def _event_lines(profile: Profile) -> Iterator[str]:
    if profile.items:
        yield f"- one request brings many: each element of `{profile.items}` is an event, all are stored or none"
    yield f"- two deliveries are one event if they agree in `{profile.key}`"
    if "arrival" in profile.key:
        which = " of what has none of that" if " or " in profile.key else ""
        yield f"- every arrival is an event{which}: what is sent again runs again, also by somebody who captured it"
    yield f"- type: `{profile.type}`"
    if profile.unsigned_type:
        where = " or ".join(f"`{header}`" for header in profile.unsigned_type)
        fate = siblings_in_words(profile.siblings)
        yield f"- the type is not signed (header {where}): a known event under another type is {fate}"
        yield '- `unsigned_type = "hold"` in the source holds it always, `"trust"` never'
    if profile.occurred_at and (headers := unsigned_headers(profile.scheme, profile.occurred_at)):
        yield f"- the time is not signed (header {' or '.join(f'`{header}`' for header in headers)})"
    if profile.entity:
        yield f"- entity: `{profile.entity}`"
    if profile.occurred_at:
        object_s = ", when its object last changed" if profile.time_of_object else ""
        yield f"- time: `{profile.occurred_at}`{object_s}"
    yield _size_line(profile)
    if profile.body_varies:
        yield "- a later delivery of an event may have other bytes: the preset `critical` does not hold it for them"
    if profile.fetch_back:
        yield "- it only says that something changed: the handler asks the provider what"


def _handshake_lines(profile: Profile) -> list[str]:
    lines = []
    for each in profile.handshakes:
        when = f", when `{each.when}`" if each.when else ""
        signed = "verified first" if each.is_signed else "not signed"
        lines.append(f"- `{each.method}`{when} ({signed}): {each.status} {_answer(each)}".rstrip())
    return ["## Handshake", "", *lines] if lines else []


def _answer(handshake: Handshake) -> str:
    if handshake.json is not None:
        fields = ", ".join(f'"{name}": {_value(value)}' for name, value in handshake.json.items())
        return f"with `{{{fields}}}`"
    if handshake.text is not None:
        return f"with `{_value(handshake.text)}` as plain text"
    names = ", ".join(f"`{name}`" for name in handshake.headers)
    return f"with {names}" if names else ""


def _value(value: str | int | Proof) -> str:
    if isinstance(value, Proof):
        return f"{_algorithm(value.algorithm) if value.is_keyed else value.algorithm.upper()} of {value.of}"
    return str(value)


def _redelivery_lines(profile: Profile) -> Iterator[str]:
    known = profile.redelivery
    if known.timeout is not None:
        yield f"- it waits {_duration(known.timeout)} for an answer"
    if known.window is not None:
        yield f"- it tries again for {_duration(known.window)}" if known.window else "- it never tries again"
    if known.delays:
        yield f"- after {', '.join(_duration(delay) for delay in known.delays)}"
    if known.ends_on:
        yield f"- it gives up at once on {known.ends_on}"
    why = "" if profile.refusal == 401 else ": after a 401 it would not come again, or it asks for this status"
    yield f"- a wrong signature is answered {profile.refusal}{why}"
    if known.timeout is None and known.window is None:
        yield "- how long it waits and tries again is not published, or we could not confirm it"


def _window(known: Redelivery) -> str:
    return "never again" if known.window == 0 else _duration(known.window)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in _UNITS:
        if seconds >= size:
            count = f"{seconds / size:.1f}".removesuffix(".0")
            return f"{count} {unit}{'s' if unit == 'day' and count != '1' else ''}"
    return f"{seconds:g} s"


def _place(place: str) -> str:
    words = {
        "header": "the header",
        "query": "the parameter",
        "form": "the form's field",
        "body": "the body's field",
        "entry": "its entry",
    }
    kind, _, rest = place.partition("|")[0].strip().partition(":")
    return f"{words.get(kind, f'the {kind}')} `{rest}`"


def _can_be_signed(scheme: Scheme) -> bool:
    first = scheme.schemes[0] if isinstance(scheme, AnyOf) else scheme
    if isinstance(first, SignedScheme):
        return first.algorithm.startswith(("sha", "plain"))
    return isinstance(first, TokenScheme)


def _quoted(text: str) -> str:
    return text if text.replace(".", "").replace("_", "").replace("-", "").replace("/", "").isalnum() else f"'{text}'"
