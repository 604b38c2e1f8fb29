"""Work that is finished although whoever waits for it was cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def settled(work: Coroutine[Any, Any, T]) -> T:
    """Runs ``work`` to its end. A cancellation that comes meanwhile is raised afterwards, instead of its result."""
    task = asyncio.ensure_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancellation = cancellation or error
    if cancellation is None:
        return task.result()
    if not task.cancelled():
        # Looked at, so that nobody is told that it was not.
        task.exception()
    raise cancellation
