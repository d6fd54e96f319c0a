"""Amazon SNS: fields of the body in a fixed order, signed by a key whose certificate the message names.

Everybody with an account there can have messages signed, so a source names the topics that it takes: their ARNs stand
where others have their secrets. A certificate may stand there too; it is then used instead of the one by address.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Hidden, KeyNeeded, Proven, PublicKey, Secret, Signature
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.algorithms import ALGORITHMS, decode, encode, public_key
from landfast.providers.schemes.keysets import key_in, pinned
from landfast.providers.skim import skimmer

HOST = r"https://sns\.[a-z]{2,4}(-[a-z]+)+-\d{1,2}\.amazonaws\.com(\.cn)?"
"""By region, exactly: at `sns.s3-eu-west-1.amazonaws.com` answers whoever owns the bucket `sns`."""

CERTIFICATES = re.compile(HOST + r"/[A-Za-z0-9._-]+\.pem")

_NOTIFICATION = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_FIELDS = {
    "Notification": _NOTIFICATION,
    "SubscriptionConfirmation": _CONFIRMATION,
    "UnsubscribeConfirmation": _CONFIRMATION,
}
_ENVELOPE = ("SigningCertURL", "SigningCertUrl", "Signature", "SignatureVersion")
_skim = skimmer({*_NOTIFICATION, *_CONFIRMATION, *_ENVELOPE}, "body")
_ALGORITHMS = {"1": ALGORITHMS["rsa-sha1"], "2": ALGORITHMS["rsa-sha256"]}


@dataclass(frozen=True, slots=True)
class SnsScheme:
    coverage: Coverage = "yes"
    needs_url: bool = False

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return {}  # it is in the body

    def decode_secret(self, text: str) -> bytes:
        if text.lstrip().startswith("-----"):
            return public_key(text, "rsa")
        if not text.startswith("arn:"):
            raise ConfigError("the secret must be the ARN of the topic, such as arn:aws:sns:eu-west-1:1234:shop")
        return text.strip().encode()

    def present(self, head: Head) -> Signature:  # noqa: ARG002 - everything stands in the body
        return Signature()

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        self._proven(signature, request.skimmed(_skim), secrets)  # strangers end here
        return self._proven(signature, request.decoded(), secrets)

    def _proven(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        message = request.data
        if not isinstance(message, dict):
            raise UnverifiedError("the body is no message of SNS")
        url = pinned(message.get("SigningCertURL") or message.get("SigningCertUrl"), CERTIFICATES)
        digest = decode(_text(message, "Signature").encode("ascii", "replace"), "base64")
        algorithm = _ALGORITHMS.get(_text(message, "SignatureVersion"))
        if not digest or algorithm is None:
            raise UnverifiedError("the signature is malformed, or of a version that is not known")
        content = _content(message)
        topic = _topic(message, secrets)
        keys = [secret.key for secret in secrets if isinstance(secret.key, PublicKey)] or [_fetched(url, request)]
        if not any(algorithm.check(key, content, (digest,)) for key in keys):
            raise UnverifiedError("the key of the certificate did not make the signature")
        return Proven(topic, signature, request)

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:  # noqa: ARG002 - the message has both
        draft.put("body:SignatureVersion", "2")
        draft.put("body:SigningCertURL", "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-sample.pem")
        message = draft.request().sight().data
        draft.put("body:Signature", encode(_ALGORITHMS["2"].make(key, _content(message)), "base64"))


def _content(message: dict[str, Any]) -> bytes:
    fields = _FIELDS.get(_text(message, "Type"))
    if fields is None:
        raise UnverifiedError("the message is of a type that is not known")
    names = [name for name in fields if name != "Subject" or message.get(name) is not None]
    return "".join(f"{name}\n{_text(message, name)}\n" for name in names).encode("utf-8", "surrogatepass")


def _text(message: dict[str, Any], name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str):
        raise UnverifiedError(f"the message has no {name}")
    # Names and values are signed line by line. A MessageId with lines in it could hold the Subject that comes after it,
    # and be a new event under an old signature; a Message may, because what follows it cannot.
    if "\n" in value and name != "Message":
        raise UnverifiedError(f"the message's {name} has more than one line")
    return value


def _topic(message: dict[str, Any], secrets: Sequence[Secret]) -> Secret:
    arn = _text(message, "TopicArn").encode("utf-8", "surrogatepass")
    # Never a certificate alone: its key signs for every account of the region.
    topics = [secret for secret in secrets if not isinstance(secret.key, PublicKey)]
    allowed = [secret for secret in topics if hmac.compare_digest(secret.key, arn)]
    if not allowed:
        raise UnverifiedError("the message is of a topic that this source does not take")
    return allowed[0]


def _fetched(url: str, request: Request) -> PublicKey:
    document = request.keys.get(url)
    if document is None:
        raise KeyNeeded(url)
    key = key_in(document)
    if key is None:
        raise UnverifiedError("there is no certificate at the address that the message names")
    return key
