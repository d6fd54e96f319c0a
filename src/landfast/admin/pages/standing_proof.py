"""The proof as pages show it: worked out beside them, so that no page waits for it.

What was never proven may be millions of lines of history, and takes minutes. The card says how far it is, and fills in
when it is there. What the last proof said stands until the next one is there, and says itself when that was.
"""

from __future__ import annotations

import asyncio

from landfast.admin.desk import Desk
from landfast.admin.pages.part import Part, Working
from landfast.admin.problems import problem_of
from landfast.admin.questions.proof import work_out
from landfast.admin.route import LONG_SECONDS
from landfast.statement_limit import statements_within

GRACE_SECONDS = 0.15
"""For which a page waits for a proof that has just begun. A small inbox is proven by then, and its page is whole at
once; half of what a page may take."""

WORKING_SHARE = 0.25
"""Of the time that a long walk works: whoever takes webhooks in uses the same databases, and was there first."""

REST_FACTOR = 20.0
"""A proof that took long is believed for so many times as long, so that open pages cost a twentieth of a processor."""


class StandingProof:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._part: Part | None = None
        self._ended_at = self._worked = 0.0
        self._working: asyncio.Task[None] | None = None
        self._began_at = 0.0
        """By the loop's clock, as the next one is."""
        self._chunk_began_at = 0.0
        self._progress = Working()

    def begin(self, seconds: float) -> None:
        """Unless it is being worked out, or the last one is younger than that."""
        age = self._desk.inbox.clock.monotonic() - self._ended_at
        is_known = self._part is not None and self._part.problem is None
        # One that was cancelled before its first step is done, and has not said so itself.
        is_working = self._working is not None and not self._working.done()
        if not is_working and not (is_known and age < max(seconds, self._worked * REST_FACTOR)):
            self._began_at = self._chunk_began_at = asyncio.get_running_loop().time()
            self._worked, self._progress = 0.0, Working()
            self._working = self._desk.start(self._work())

    async def get(self, seconds: float) -> Part:
        """The newest there is: an answer, a problem, or how far it is."""
        self.begin(seconds)
        if self._working is not None:
            left = self._began_at + GRACE_SECONDS - asyncio.get_running_loop().time()
            await asyncio.wait({self._working}, timeout=max(0.0, left))
        return self._part or Part(working=self._progress)

    async def _work(self) -> None:
        try:
            with statements_within(LONG_SECONDS):
                self._part = Part(await work_out(self._desk, report=self._report, rest=self._rest))
        except Exception as error:  # noqa: BLE001 - whatever it is, the card says so, and the next page tries again
            self._part = Part(problem=problem_of(error))
        finally:
            self._worked += asyncio.get_running_loop().time() - self._chunk_began_at
            self._ended_at = self._desk.inbox.clock.monotonic()
            self._working = None

    def _report(self, walked: int, of: int) -> None:
        self._progress = Working(walked, of)

    async def _rest(self) -> None:
        """Between two chunks of a long walk."""
        loop = asyncio.get_running_loop()
        worked = loop.time() - self._chunk_began_at
        self._worked += worked
        await self._desk.inbox.clock.sleep(worked * (1 / WORKING_SHARE - 1))
        self._chunk_began_at = loop.time()
