"""Where a function of the user's is right now: what a person needs to know of one that hangs."""

from __future__ import annotations

import traceback
from asyncio import Task
from types import FrameType
from typing import Any

FRAMES_AT_MOST = 40
"""The innermost ones: deeper stacks are recursions."""


def stack_of_task(task: Task[Any]) -> str:
    """From the function that the task's own coroutine awaits, to the innermost coroutine or generator."""
    frames: list[tuple[FrameType, int]] = []
    awaited = _first(task.get_coro(), "cr_await")
    while (frame := _first(awaited, "cr_frame", "gi_frame", "ag_frame")) is not None:
        frames.append((frame, frame.f_lineno))
        awaited = _first(awaited, "cr_await", "gi_yieldfrom", "ag_await")
    return _formatted(frames)


def stack_of_thread(frame: FrameType | None, *, above: str) -> str:
    """From the function itself to where its thread is. `above` is the file whose frames are the caller's own."""
    frames = list(traceback.walk_stack(frame))[::-1] if frame is not None else []
    own = [number for number, (one, _) in enumerate(frames) if one.f_code.co_filename == above]
    return _formatted(frames[own[-1] + 1 :] if own else frames)


def _first(holder: Any, *names: str) -> Any:
    return next((found for name in names if (found := getattr(holder, name, None)) is not None), None)


def _formatted(frames: list[tuple[FrameType, int]]) -> str:
    return "".join(traceback.StackSummary.extract(iter(frames[-FRAMES_AT_MOST:])).format())
