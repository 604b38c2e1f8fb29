"""The terminals of one sandbox session."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable

from agents.sandbox.errors import PtySessionNotFoundError
from agents.sandbox.session.pty_types import PtyExecUpdate

from ._settle import settled
from ._terminal import Terminal
from ._wire import ExecRequest, Exit, Info, Window
from ._yard import Yard, is_gone
from .errors import YardError

logger = logging.getLogger("ptyard_agents")

# The clamps that models and their tools were made with.
SHORTEST_MS = 250
SHORTEST_POLL_MS = 5_000
LONGEST_MS = 30_000
START_DEFAULT_MS = 10_000
WRITE_DEFAULT_MS = 250

# Most terminals of a session at once; the next one ends the least used.
MAX_TERMINALS = 64
# One-shot commands are no terminals of the model's and end none.
MAX_COMMANDS = 4_096

# Between TERM and KILL when a session ends: enough to save a file, too short to be noticed.
END_GRACE_MS = 500

# The program had ended when it was to be typed into; its last output is there to be had.
_TOO_LATE = {"terminal_exited", "stdin_closed"}
# Refusals of what was to be typed.
_NOT_TYPED = _TOO_LATE | {"invalid_argument", "input_too_large", "input_queue_full"}

# How long the end may take to be reported after a kill.
_END_S = 10.0

# How many terminals are ended or removed at a time.
_AT_ONCE = 16


def yield_ms(seconds: float | None, default_ms: int, *, poll: bool = False) -> int:
    """The time of a window, clamped as the SDK does."""
    asked = default_ms if seconds is None else int(seconds * 1000)
    clamped = max(SHORTEST_MS, min(LONGEST_MS, asked))
    return max(clamped, SHORTEST_POLL_MS) if poll else clamped


class Terminals:
    """Starts, finds and ends the terminals of one session.

    The server keeps which terminals a session has: ``client`` names them there. So another process that resumes the
    session finds them under the same ids.
    """

    def __init__(self, yard: Yard, session: uuid.UUID, until: tuple[str, ...]) -> None:
        self.yard = yard
        self.client = f"agents:{session.hex}"
        self.command_client = f"{self.client}:exec"
        self._name = f"agents-{session.hex[:8]}"
        self._until = until
        self._known: dict[int, Terminal] = {}

    async def launch(self, request: ExecRequest, *, one_shot: bool = False) -> Window:
        """Starts a program. Cancelled meanwhile, it leaves nothing behind."""
        request["name"] = f"{self._name}-{uuid.uuid4().hex[:12]}"
        client, most = (self.command_client, MAX_COMMANDS) if one_shot else (self.client, MAX_TERMINALS)
        request["policy"] = {"client": client, "max_terminals": most}
        # Broken off on the way, nobody would know whether it was started.
        starting = asyncio.ensure_future(self.yard.exec(request))
        try:
            started = await asyncio.shield(starting)
        except asyncio.CancelledError:
            await settled(self._abandon(starting, request["name"]))
            raise
        for warning in started.warnings:
            logger.warning("%s", warning)
        return started

    async def _abandon(self, starting: asyncio.Future[Window], name: str) -> None:
        await asyncio.wait({starting})
        if starting.cancelled() or starting.exception() is None:
            await self.discard(name)

    async def discard(self, at: str) -> None:
        """Ends and removes a terminal that nobody knows of. Finished also when cancelled."""

        async def work() -> None:
            try:
                await self._kill_and_remove(at, 0)
            except YardError as error:
                if not is_gone(error):
                    logger.warning("terminal %s could not be removed: %s", at, error)

        await settled(work())

    async def start(
        self, request: ExecRequest, *, yield_time_s: float | None, max_output_tokens: int | None
    ) -> PtyExecUpdate:
        """Starts a program and takes its first window. Its caller must see that, or the program is ended."""
        started = await self.launch(request)
        assert started.session_id is not None or started.exit is not None
        terminal = Terminal(started.id, started.session_id or 0, request["tty"])
        try:
            update, exit_ = await terminal.window(
                self.yard,
                "",
                yield_ms=yield_ms(yield_time_s, START_DEFAULT_MS),
                cap=max_output_tokens,
                until=self._until,
                since=0 if started.next and self._until else None,
            )
        except BaseException:
            await self.discard(terminal.id)
            raise
        if exit_ is None:
            self._known[terminal.session_id] = terminal
        return update

    async def write(
        self, session_id: int, chars: str, *, yield_time_s: float | None, max_output_tokens: int | None
    ) -> PtyExecUpdate:
        """Types, or polls, and takes a window."""
        terminal = await self._find(session_id)
        if chars and not terminal.tty:
            # The SDK's tools know this text.
            raise RuntimeError("stdin is not available for this process")
        wait_ms = yield_ms(yield_time_s, WRITE_DEFAULT_MS, poll=not chars)
        try:
            update, exit_ = await self._window(terminal, chars, wait_ms, max_output_tokens)
        except YardError as error:
            if not is_gone(error):
                raise
            self._known.pop(session_id, None)
            raise PtySessionNotFoundError(session_id=session_id) from error
        if exit_ is not None:
            self._known.pop(session_id, None)
        return update

    async def _window(
        self, terminal: Terminal, chars: str, wait_ms: int, cap: int | None
    ) -> tuple[PtyExecUpdate, Exit | None]:
        try:
            return await terminal.window(self.yard, chars, yield_ms=wait_ms, cap=cap, until=self._until)
        except YardError as error:
            if not chars or error.code not in _NOT_TYPED:
                raise
            if error.code in _TOO_LATE:
                return await terminal.window(self.yard, "", yield_ms=wait_ms, cap=cap)
            # The model can do something about it; an exception would end its whole run.
            note = f"[ptyard: nothing was typed: {error}]\n"
            return PtyExecUpdate(terminal.session_id, note.encode(), None, None), None

    async def _find(self, session_id: int) -> Terminal:
        if (known := self._known.get(session_id)) is not None:
            return known
        try:
            info = await self.yard.info(session_id)
        except YardError as error:
            if not is_gone(error):
                raise
            raise PtySessionNotFoundError(session_id=session_id) from error
        if info.client != self.client or info.session_id != session_id:
            raise PtySessionNotFoundError(session_id=session_id)
        # Two callers may have asked at once; they must share one.
        return self._known.setdefault(session_id, Terminal(info.id, session_id, info.tty, info.cursor))

    async def end_all(self) -> None:
        """Ends every terminal of the session, also those that another process started. Their logs stay.

        Whoever waits for one of them gets its last output and its end.
        """

        async def work() -> None:
            infos = await self.yard.list()
            await self._each(self._end, [info for info in infos if info.client == self.client and info.running])
            self._known.clear()

        await settled(work())

    async def remove_all(self) -> None:
        """Ends everything of the session, left-overs of one-shot commands too, and removes the logs."""

        async def work() -> None:
            mine = {self.client, self.command_client}
            await self._each(self._remove, [info for info in await self.yard.list() if info.client in mine])
            self._known.clear()

        await settled(work())

    async def _end(self, info: Info) -> None:
        await self.yard.kill(info.id, END_GRACE_MS)
        # Its end counts as handed over: the id is not found from here on, and leaves its place to another.
        await self.yard.write(info.id, yield_ms=0, max_tokens=1)

    async def _remove(self, info: Info) -> None:
        await self._kill_and_remove(info.id, END_GRACE_MS)

    async def _kill_and_remove(self, at: str, grace_ms: int) -> None:
        await self.yard.kill(at, grace_ms)
        # On a busy machine the kill is answered before the end is reported, and only what has ended can be removed.
        await self.yard.wait(at, _END_S)
        await self.yard.remove(at)

    async def _each(self, act: Callable[[Info], Awaitable[None]], infos: Iterable[Info]) -> None:
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(info: Info) -> None:
            async with room:
                try:
                    await act(info)
                except YardError as error:
                    if not is_gone(error):
                        logger.warning("terminal %s could not be ended: %s", info.id, error)

        await asyncio.gather(*(one(info) for info in infos))
