"""Where a function of the user's is right now: what a person needs to know of one that hangs."""

from __future__ import annotations

import traceback
from asyncio import Task
from pathlib import Path
from traceback import StackSummary
from types import FrameType
from typing import Any

FRAMES_AT_MOST = 40
"""The innermost ones: deeper stacks are recursions."""


def stack_of_task(task: Task[Any]) -> StackSummary:
    """From the function that the task's own coroutine awaits, to the innermost coroutine or generator."""
    frames: list[tuple[FrameType, int]] = []
    awaited = _first(task.get_coro(), "cr_await")
    while (frame := _first(awaited, "cr_frame", "gi_frame", "ag_frame")) is not None:
        frames.append((frame, frame.f_lineno))
        awaited = _first(awaited, "cr_await", "gi_yieldfrom", "ag_await")
    return _extracted(frames)


def stack_of_thread(frame: FrameType | None, *, above: str) -> StackSummary:
    """From the function itself to where its thread is. `above` is the file whose frames are the caller's own."""
    frames = list(traceback.walk_stack(frame))[::-1] if frame is not None else []
    own = [number for number, (one, _) in enumerate(frames) if one.f_code.co_filename == above]
    return _extracted(frames[own[-1] + 1 :] if own else frames)


def in_one_line(stack: StackSummary) -> str:
    """For a log: `shop.py:12 charge > client.py:40 post`."""
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in stack)


def _first(holder: Any, *names: str) -> Any:
    return next((found for name in names if (found := getattr(holder, name, None)) is not None), None)


def _extracted(frames: list[tuple[FrameType, int]]) -> StackSummary:
    return StackSummary.extract(iter(frames[-FRAMES_AT_MOST:]))
