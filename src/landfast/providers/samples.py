"""A sample for a provider: one that it brings or, for one that the user described, one made of the places it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from landfast.providers.dedup import places_read
from landfast.providers.locations import split_place
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Sample
from landfast.providers.template import Template


def sample_of(profile: Profile, type_: str | None) -> Sample:
    """The one of this type, or else the first, which is made into one of this type."""
    if not profile.samples:
        return _described(profile)
    return next((each for each in profile.samples if each.type == type_), profile.samples[0])


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
