from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.errors import ConfigError
from landfast.providers import names, provider
from tests.providers.requests import HMAC


def test_every_name_gives_its_provider() -> None:
    assert {*HMAC} <= {*names()}
    assert [provider(name).name for name in names()] == list(names())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("strpe", "'stripe'"),
        ("GitHub", "'github'"),
        ("standardwebhooks", "'standard-webhooks'"),
        ("xyz", r"describe it as \[providers.xyz\]"),
    ],
)
def test_an_unknown_provider_is_answered_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no provider '{name}': .*{hint}"):
        provider(name)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"headr": "X-Sig"}, "no option 'headr': did you mean header"),
        ({"zzz": "X-Sig"}, "no option 'zzz': it has header, algorithm"),
        ({"header": 3}, "option header must be text, not 3"),
        ({"header": ""}, "header is empty"),
        ({"algorithm": "md5"}, "algorithm 'md5' is not known: use sha256, sha1, "),
        ({"encoding": "base32"}, "encoding 'base32' is not known: use hex, base64"),
        ({"timestamp_header": "X-T", "timestamp_unit": "h"}, "timestamp_unit 'h' is not known: use s, ms"),
        ({"content": "{timestamp}.{body}"}, "uses {timestamp}, and no header is given"),
        ({"content": "{id}.{body}"}, "uses {id}, and no header is given"),
        ({"content": "{host}{body}"}, "uses {host}, which is none of {body}, "),
        ({"content": "{secret}{body}"}, "must hold {secret} with a plain hash"),
        ({"content": "{body"}, "cannot be read"),
        ({"content": "fixed"}, "must hold {body}"),
        ({"timestamp_header": "X-T", "content": "{body}"}, "must hold {timestamp}"),
        ({"type": "cookie:x"}, "'cookie:x' is no place in a request"),
        ({"ordered_by": "data."}, "'data.' is no place in a request"),
    ],
)
def test_a_generic_provider_that_cannot_work_is_a_config_error(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        provider("generic", **options)
    assert sentence in str(caught.value)


def test_only_the_generic_provider_has_options() -> None:
    with pytest.raises(ConfigError, match="'stripe' takes no option 'header'"):
        provider("stripe", header="X-Sig")
