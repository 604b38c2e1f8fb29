"""The text of a window under a token budget."""

from __future__ import annotations

import asyncio

from agents.sandbox.session.pty_types import truncate_text_by_tokens

from ._wire import MAX_TOKENS, Window

# A token is this many bytes of UTF-8.
_TOKEN_BYTES = 4
# Longer texts are decoded and cut in a thread, so that the event loop goes on meanwhile.
_LONG_BYTES = 1 << 20

Capped = tuple[str, "int | None"]
"""Text, and the tokens of the whole when it was cut."""


def asked_for(cap: int | None) -> int:
    """The cap to ask the server for: it knows neither "none" nor "nothing"."""
    return MAX_TOKENS if cap is None else min(max(cap, 1), MAX_TOKENS)


def of_window(window: Window, cap: int | None) -> Capped | None:
    """The text of a window that was asked for with :func:`asked_for`; ``None`` when its bytes are needed for it."""
    if window.original_token_count is None:
        if cap is None or cap > 0:
            return window.output, None
        # The server's least cap is one token; the SDK knows none and less.
        tokens = -(-len(window.output.encode()) // _TOKEN_BYTES)
        return "", tokens or None
    if cap is not None and cap <= 0:
        return "", window.original_token_count
    if cap is None or cap > MAX_TOKENS:
        return None
    return window.output, window.original_token_count


async def of_bytes(data: bytes, cap: int | None) -> Capped:
    """The text of a range of the log that begins and ends where windows do."""

    def cut() -> Capped:
        return truncate_text_by_tokens(data.decode("utf-8", "replace"), cap)

    return await asyncio.to_thread(cut) if len(data) > _LONG_BYTES else cut()
