"""What a run of the nemesis came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Verdict:
    seed: int
    events: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    """What must not be and is."""
    void: list[str] = field(default_factory=list)
    """Why the run proves nothing."""
    proof: list[str] = field(default_factory=list)
    """What `landfast proof` says."""
    logs: list[str] = field(default_factory=list)
    """What the machines said last, if there was a problem."""
    kept: str = ""
    """Where the history is, if there was a problem."""

    @property
    def is_good(self) -> bool:
        return not self.problems and not self.void

    def __str__(self) -> str:
        lines = [
            f"nemesis, seed {self.seed}: {self.events:,} events, {_counts(self.answers)}",
            f"  events: {_counts(self.kinds)}",
            f"  {self.faults.total()} faults: {_counts(self.faults)}",
            *[f"  proof: {line}" for line in self.proof],
            *[f"  void: {line}" for line in self.void],
            *[f"  WRONG: {line}" for line in self.problems[:MOST]],
        ]
        if len(self.problems) > MOST:
            lines.append(f"  and {len(self.problems) - MOST} more")
        lines += [f"  log of {line}" for line in self.logs]
        if self.kept:
            lines.append(f"  the history and the books are in {self.kept}")
        lost, doubled = (sum(line.startswith(which) for line in self.problems) for which in ("I1:", "I2:"))
        lines.append(f"  {lost} lost, {doubled} doubled, {len(self.problems)} problems in all")
        return "\n".join(lines)


MOST = 20
"""Problems that are printed: a run that goes wrong may have thousands of one kind."""


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counter.most_common())
