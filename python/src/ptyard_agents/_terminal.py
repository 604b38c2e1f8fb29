"""A running program, and what of its output was delivered."""

from __future__ import annotations

from dataclasses import dataclass

from agents.sandbox.session.pty_types import PtyExecUpdate

from . import _capped
from ._wire import Exit
from ._yard import Yard


@dataclass
class Terminal:
    """One terminal of a session.

    The server hands each window over once, on a cursor that all callers share. Whether it arrived is known only here:
    a caller may have been cancelled while it was on its way. So ``delivered`` is the truth, and moves in the step in
    which a window is returned; a window that does not begin there is taken from the log instead.

    Invariants:
        1. Every byte below ``delivered`` was returned to a caller, in order, once.
        2. ``delivered`` stands where a window ended, so never inside a character.
    """

    id: str
    session_id: int
    tty: bool
    delivered: int = 0

    async def window(
        self,
        yard: Yard,
        text: str,
        *,
        yield_ms: int,
        cap: int | None,
        until: tuple[str, ...] = (),
        since: int | None = None,
    ) -> tuple[PtyExecUpdate, Exit | None]:
        """Types, and returns what is new. Cancelled anywhere, it has delivered nothing.

        ``since`` is for a window whose beginning the server has handed over before: ``until`` looks at that, too.
        """
        window = await yard.write(
            self.id,
            typed=text.encode("utf-8", "replace"),
            yield_ms=yield_ms,
            max_tokens=_capped.asked_for(cap),
            until=until,
            since=since,
        )
        while True:
            start, evicted = self.delivered, window.evicted
            capped: _capped.Capped | None = ("", None)
            if window.start == start:
                capped = _capped.of_window(window, cap)
            if window.next > start and (window.start != start or capped is None):
                span = await yard.read(self.id, start, window.next)
                capped, evicted = await _capped.of_bytes(span.data, cap), span.evicted
                if self.delivered != start:
                    # Another caller was faster, and this is partly told.
                    continue
            assert capped is not None, "only windows with bytes are cut"
            # Nothing is awaited from here on: it is delivered in this step.
            assert self.delivered == start, "invariant 1"
            self.delivered = max(start, window.next)
            output, tokens = capped
            output = _note_evicted(evicted) + output + _note_unwritten(window.unwritten)
            live = self.session_id if window.exit is None else None
            status = window.exit.status if window.exit is not None else None
            return PtyExecUpdate(live, output.encode(), status, tokens), window.exit


def _note_evicted(size: int) -> str:
    return f"[ptyard: {size:,} bytes were printed here and are no longer kept]\n" if size else ""


def _note_unwritten(size: int) -> str:
    return f"\n[ptyard: the program did not read; {size:,} bytes of the input were not typed]\n" if size else ""
