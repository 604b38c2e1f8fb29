"""Cancels a call at a chosen await."""

from __future__ import annotations

import asyncio
import enum
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class When(enum.Enum):
    """On which side of what is awaited the cancellation comes."""

    WAITING = "while it is awaited"
    ARRIVED = "when it has arrived, and the caller has not run yet"


@types.coroutine
def _watched(work: Coroutine[Any, Any, T], suspended: Callable[[Any], None]) -> Generator[Any, Any, T]:
    thrown: BaseException | None = None
    while True:
        try:
            waits_for = work.send(None) if thrown is None else work.throw(thrown)
        except StopIteration as done:
            value: T = done.value
            return value
        suspended(waits_for)
        try:
            yield waits_for
            thrown = None
        except BaseException as error:
            thrown = error


async def cancelled_at(count: int, when: When, work: Coroutine[Any, Any, T]) -> tuple[bool, T | None]:
    """Runs ``work`` and cancels it at its ``count``-th suspension. Whether there was one, and what it returned."""
    seen = 0

    def suspended(waits_for: Any) -> None:
        nonlocal seen
        seen += 1
        if seen != count:
            return
        if when is When.ARRIVED and waits_for is not None:
            # Called before the task is woken: it was registered first.
            waits_for.add_done_callback(lambda _: task.cancel())
        else:
            asyncio.get_running_loop().call_soon(task.cancel)

    async def whole() -> T:
        return await _watched(work, suspended)

    task = asyncio.ensure_future(whole())
    try:
        return seen >= count, await task
    except asyncio.CancelledError:
        return True, None
