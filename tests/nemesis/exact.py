"""Whether `landfast proof` is exact: what it says beside what the harness knows. Holding is not enough, because a proof
that excuses too much holds as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

LEFT_OVER = ("waiting", "out of sight", "lost", "nowhere")
"""Terms that must not be there once everything has come to rest."""

IN_DOUBT = ("in flight", "nobody was told")
"""Terms for what no sender has heard of: the harness knows how many deliveries that can be."""


UNREPORTED_SECONDS = 3.0
"""A boot reports what it told every second; one that is killed takes that to its grave, and on a busy machine more."""


def doubts_of(answers: Counter[str], *, killed: int, pace: float) -> int:
    """Deliveries whose sender does not know what became of them, and those of which a killed intake has told nobody
    that it answered: `pace` is how many are sent in a second, at most."""
    return answers["unknown"] + answers["hung up"] + int(killed * pace * UNREPORTED_SECONDS)


def inexact(proof: Mapping[str, Any], *, events: int, doubts: int) -> Iterator[str]:
    """`events` is how many are stored, counted by plain SQL."""
    for field in ("lost", "doubled"):
        if proof[field]:
            yield f"proof: {proof[field]} {field}"
    for equation in proof["equations"]:
        name, terms = equation["name"], equation["left"] | equation["right"]
        if not equation["holds"]:
            yield f"proof: {name} fails: {terms}"
        if terms.get("in the inbox", events) != events and "lost" not in terms:
            yield f"proof: {name}: {terms['in the inbox']} in the inbox, where {events} are"
        yield from (f"proof: {name}: {terms[term]} {term}" for term in LEFT_OVER if terms.get(term))
        yield from (
            f"proof: {name}: {terms[term]} {term}, and only {doubts} deliveries can be in doubt"
            for term in IN_DOUBT
            if terms.get(term, 0) > doubts
        )
