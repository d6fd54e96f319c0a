"""A sample for a provider: one that it brings or, for one that the user described, one made of the places it names.

The files beside this one hold samples of the types that most people handle, written here after what the providers say
about their fields: by provider, and in each by type, with the words that `Sample` explains. A file is read when a type
of its provider is asked for that the catalogue has no sample of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import msgspec

from landfast.providers.dedup import places_read
from landfast.providers.locations import split_place
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Sample
from landfast.providers.template import Template


def sample_of(profile: Profile, type_: str | None) -> Sample:
    """The one of this type, or else the first, which is made into one of this type."""
    if not profile.samples:
        return _described(profile)
    brought = next((each for each in profile.samples if each.type == type_), None)
    if brought is None and type_ is not None:
        brought = _filed(profile.name).get(type_)
    return brought or profile.samples[0]


def sample_types(profile: Profile) -> tuple[str, ...]:
    """The types that there is a true sample of; none for a provider that the user described."""
    if not profile.samples:
        return ()
    return tuple(sorted({*(each.type for each in profile.samples), *_filed(profile.name)}))


class _Filed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sample as it stands in its file."""

    body: Any
    headers: dict[str, str] = {}
    id: str = "sample_1001"
    form: bool = False


_NO_SAMPLES: Mapping[str, Sample] = MappingProxyType({})


@cache
def _filed(provider: str) -> Mapping[str, Sample]:
    """By type. They are part of the program, as its modules are."""
    file = files(__package__) / f"{provider}.json"
    if not file.is_file():
        return _NO_SAMPLES
    found = msgspec.json.decode(file.read_bytes(), type=dict[str, _Filed])
    return MappingProxyType(
        {
            type_: Sample(type=type_, data=each.body, headers=each.headers, is_form=each.form, id=each.id)
            for type_, each in found.items()
        }
    )


def _described(profile: Profile) -> Sample:
    """Id and type stand where the profile reads them; what nobody can fill in, such as a field's name, is left out."""
    headers: dict[str, str] = {}
    data: Any = {}
    is_form = False
    for place, text in _fillings(profile):
        kind, rest = split_place(place)
        match kind:
            case "header":
                headers.setdefault(rest, text)
            case "form":
                is_form = True
                data.setdefault(rest, text)
            case "body":
                data = _grown(data, rest.split("."), text)
            case "item" | "parent":
                data = _grown(data, [*_path_to(kind, profile.items or ""), *rest.split(".")], text)
    return Sample(type="sample", data=data, headers=headers, is_form=is_form)


def _fillings(profile: Profile) -> Iterator[tuple[str, str]]:
    """Places, each with what belongs there. Of several for one thing the first is enough."""
    rule = profile.key.partition(" or ")[0].removeprefix("hmac:")
    for place in places_read(rule) or ["item:id" if profile.items else "body:id"]:
        yield place.partition("|")[0], "{id}"
    first, *others = profile.type.split("+")
    for place, word in zip((first, *others), ("{type.first}", "{type.rest}") if others else ("{type}",), strict=False):
        yield place.partition("|")[0], word
    for name in sorted(Template(getattr(profile.scheme, "content", "")).names):
        if name.startswith(("header:", "body:", "form:", "item:")) and not name.endswith("?"):
            yield name.removesuffix("!"), "sample"


def _path_to(kind: str, items: str) -> list[str]:
    """The way to the only item of the sample, or to what it stands in: `body:entry.*.changes` is entry.0.changes.0."""
    place = items.partition("+")[0].strip()
    steps = [step for step in place.partition(":")[2].split(".") if step]
    if len(steps) > 1:
        steps = ["0" if step == "*" else step for step in steps]
    return [*steps, "0"] if kind == "item" else steps[:-1]


def _grown(data: Any, path: list[str], text: str) -> Any:
    """The data with a text at this path, unless something is there; the objects and lists on the way are made."""
    if not path:
        return data or text
    step, *rest = path
    if step.isdecimal():
        rows = list(data) if isinstance(data, list) else []
        rows += [None] * (int(step) + 1 - len(rows))
        rows[int(step)] = _grown(rows[int(step)], rest, text)
        return rows
    fields = data if isinstance(data, dict) else {}
    name = "sample" if step == "*" else step
    return fields | {name: _grown(fields.get(name), rest, text)}
