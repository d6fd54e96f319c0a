"""Where a function of the user's is right now: what a person needs to know of one that hangs."""

from __future__ import annotations

import traceback
from asyncio import Task
from collections import deque
from pathlib import Path
from traceback import StackSummary
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, cast

FRAMES_AT_MOST = 40
"""The innermost ones: deeper stacks are recursions."""


def stack_of_task(task: Task[Any]) -> StackSummary:
    """From the function that the task's own coroutine awaits, to the innermost coroutine or generator; empty if that
    cannot be told. It is called by the timer of all deadlines, so it never raises."""
    frames: deque[tuple[FrameType, int]] = deque(maxlen=FRAMES_AT_MOST)
    try:
        _, awaited = _frame_and_awaited(task.get_coro())
        frame, awaited = _frame_and_awaited(awaited)
        while frame is not None:
            frames.append((frame, frame.f_lineno))
            frame, awaited = _frame_and_awaited(awaited)
        return _extracted(list(frames))
    except Exception:  # noqa: BLE001 - the lines of the source come from the loader of the user's module
        return StackSummary()


def stack_of_thread(frame: FrameType | None, *, above: str) -> StackSummary:
    """From the function itself to where its thread is. `above` is the file whose frames are the caller's own."""
    frames = list(traceback.walk_stack(frame))[::-1] if frame is not None else []
    own = [number for number, (one, _) in enumerate(frames) if one.f_code.co_filename == above]
    try:
        return _extracted(frames[own[-1] + 1 :] if own else frames)
    except Exception:  # noqa: BLE001 - as above
        return StackSummary()


def in_one_line(stack: StackSummary) -> str:
    """For a log: `shop.py:12 charge > client.py:40 post`."""
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in stack)


def _frame_and_awaited(awaitable: object) -> tuple[FrameType | None, object]:
    # By its exact type: an awaitable of somebody else's is asked for nothing, not even for its class, because a proxy
    # may raise then, and a mock answers everything for ever.
    kind = type(awaitable)
    if kind is CoroutineType:
        coroutine = cast("CoroutineType[Any, Any, Any]", awaitable)
        return coroutine.cr_frame, coroutine.cr_await
    if kind is GeneratorType:
        generator = cast("GeneratorType[Any, Any, Any]", awaitable)
        return generator.gi_frame, generator.gi_yieldfrom
    if kind is AsyncGeneratorType:
        stream = cast("AsyncGeneratorType[Any, Any]", awaitable)
        return stream.ag_frame, stream.ag_await
    return None, None


def _extracted(frames: list[tuple[FrameType, int]]) -> StackSummary:
    return StackSummary.extract(iter(frames[-FRAMES_AT_MOST:]))
