"""One-shot commands: argv in, streams and status out."""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.sandbox.errors import ExecTimeoutError, ExecTransportError
from agents.sandbox.types import ExecResult

from ._terminals import Terminals
from ._wire import ExecRequest, Exit
from .errors import YardError

# The log has one stream; errors go beside it. `exec`, so that the status and the signals are the command's own.
_ERRORS_BESIDE = 'exec 2>"$1"; shift; exec "$@"'
# Bytes typed at a time into a command's stdin.
_PART_BYTES = 1 << 20
# How long a command may take to read one part of its stdin.
_PART_MS = 60_000


@dataclass(frozen=True)
class Outcome:
    """What a command printed, to both streams, and how it ended."""

    output: bytes
    status: int


class Commands:
    """Runs commands of one session. Each is a terminal on pipes, removed when it has ended."""

    def __init__(self, terminals: Terminals, backend: str) -> None:
        self._terminals = terminals
        self._is_local = backend == "local"

    async def run(self, request: ExecRequest, *, timeout: float | None, shown: Sequence[str | Path]) -> ExecResult:
        """Runs a command with its errors apart. ``shown`` is what an error says was run."""
        errors = self._errors_path()
        try:
            argv = ["sh", "-c", _ERRORS_BESIDE, "sh", errors, *request["argv"]]
            outcome = await self.raw({**request, "argv": argv}, timeout=timeout, shown=shown)
            if self._is_local:
                stderr = Path(errors).read_bytes()
            else:
                fetch: ExecRequest = {**request, "argv": ["sh", "-c", 'cat -- "$1"; rm -f -- "$1"', "sh", errors]}
                stderr = (await self.raw(fetch, timeout=None, shown=shown)).output
            return ExecResult(stdout=outcome.output, stderr=stderr, exit_code=outcome.status)
        finally:
            if self._is_local:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(errors)

    def _errors_path(self) -> str:
        if not self._is_local:
            return f"/tmp/ptyard-{uuid.uuid4().hex}.err"
        handle, path = tempfile.mkstemp(prefix="ptyard-", suffix=".err")
        os.close(handle)
        return path

    async def raw(
        self, request: ExecRequest, *, timeout: float | None, shown: Sequence[str | Path], stdin: bytes | None = None
    ) -> Outcome:
        """Runs a command, its streams as one, and feeds it. Cancelled or late, it is ended with all it started."""
        request["tty"] = False
        request["stdin"] = "null" if stdin is None else "pipe"
        try:
            started = await self._terminals.launch(request, one_shot=True)
        except YardError as error:
            raise transport_error(error, shown) from error
        ended: Exit | None = None
        try:
            if stdin is not None:
                await self._feed(started.id, stdin)
            ended = await self._terminals.yard.wait(started.id, timeout)
            if ended is None:
                raise ExecTimeoutError(command=shown, timeout_s=timeout)
            span = await self._terminals.yard.read(started.id, 0)
        except YardError as error:
            raise transport_error(error, shown) from error
        finally:
            # What it left running was meant to run on: a daemon, a mount. It goes with the session.
            if ended is None or ended.descendants == 0:
                await self._terminals.discard(started.id)
        if span.evicted:
            message = f"the command printed more than is kept: {span.evicted:,} bytes are gone"
            raise ExecTransportError(command=shown, message=message, context={"reason": "output_evicted"})
        if ended.status is None:
            message = "how the command ended is not known"
            raise ExecTransportError(command=shown, message=message, context={"reason": "unknown_exit"})
        return Outcome(span.data, ended.status)

    async def _feed(self, at: str, data: bytes) -> None:
        yard = self._terminals.yard
        try:
            for begin in range(0, len(data), _PART_BYTES):
                part = data[begin : begin + _PART_BYTES]
                window = await yard.write(at, typed=part, yield_ms=0, max_tokens=1, take_ms=_PART_MS)
                if window.unwritten:
                    # Either it has closed its input, and will end, or it does not read.
                    if await yard.wait(at, _PART_MS / 1000) is None:
                        raise YardError("input_queue_full", "the command does not read its input", retryable=True)
                    return
            await yard.close_stdin(at)
        except YardError as error:
            # It ended before it had read all; its status says why.
            if error.code not in {"terminal_exited", "stdin_closed"}:
                raise


def transport_error(error: YardError, shown: Sequence[str | Path]) -> ExecTransportError:
    """The SDK's error for a refusal of the server."""
    context = {"backend": "ptyard", "reason": error.code, "provider_error": str(error)}
    return ExecTransportError(
        command=shown, message=str(error), context=context, cause=error, retryable=error.retryable
    )
