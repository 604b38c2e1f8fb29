"""Files of a workspace that only its commands can reach."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path

from agents.sandbox.errors import (
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
)

from ._command import Commands, Outcome
from ._wire import ExecRequest

# A file is read in parts, so that it passes through a log of any size.
_PART_BYTES = 64 << 20

_MISSING = 66
_READ = f"""
[ -e "$1" ] || [ -L "$1" ] || exit {_MISSING}
[ -f "$1" ] || {{ echo "not a regular file"; exit 1; }}
[ -r "$1" ] || {{ echo "permission denied"; exit 1; }}
tail -c "+$2" -- "$1" 2>/dev/null | head -c "$3"
"""
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && exec cat > "$1"'
_WRITE_NEW = 'mkdir -p -- "$(dirname -- "$1")" && set -C && exec cat > "$1"'

Request = Callable[[list[str]], ExecRequest]
"""Makes the request for a command, with its directory, environment and user."""


class RemoteFiles:
    """Reads and writes through commands on pipes, byte for byte."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def read(self, path: Path, request: Request, most: int | None = None) -> bytes:
        parts: list[bytes] = []
        size = 0
        while most is None or size < most:
            want = _PART_BYTES if most is None else min(_PART_BYTES, most - size)
            done = await self._sh(request, _READ, str(path), str(size + 1), str(want))
            if done.status == _MISSING:
                raise WorkspaceReadNotFoundError(path=path)
            if done.status:
                raise WorkspaceArchiveReadError(path=path, context={"stderr": _said(done)})
            parts.append(done.output)
            size += len(done.output)
            if len(done.output) < want:
                break
        return b"".join(parts)

    async def write(self, path: Path, data: bytes, request: Request, *, new: bool = False) -> None:
        done = await self._sh(request, _WRITE_NEW if new else _WRITE, str(path), stdin=data)
        if done.status:
            raise WorkspaceArchiveWriteError(path=path, context={"stderr": _said(done)})

    async def pack(self, root: Path, skip: Iterable[Path], request: Request) -> io.IOBase:
        """The workspace as a tar stream that can be unpacked anywhere."""
        excludes = [f"--exclude=./{path.as_posix()}" for path in skip]
        archive = (await self._sh(request, "mktemp")).output.decode().strip()
        try:
            made = await self._sh(
                request, 'a=$1; r=$2; shift 2; exec tar "$@" -C "$r" -cf "$a" .', archive, str(root), *excludes
            )
            if made.status:
                raise WorkspaceArchiveReadError(path=root, context={"stderr": _said(made)})
            packed = await self.read(Path(archive), request)
        finally:
            await self._sh(request, 'rm -f -- "$1"', archive)
        return io.BytesIO(packed)

    async def unpack(self, root: Path, data: bytes, request: Request) -> None:
        done = await self._sh(request, 'mkdir -p -- "$1" && exec tar -C "$1" -xf -', str(root), stdin=data)
        if done.status:
            raise WorkspaceArchiveWriteError(path=root, context={"stderr": _said(done)})

    async def _sh(self, request: Request, script: str, *args: str, stdin: bytes | None = None) -> Outcome:
        argv = ["sh", "-c", script, "sh", *args]
        shown = ("sh", "-c", "<script>", *args)
        return await self._commands.raw(request(argv), timeout=None, shown=shown, stdin=stdin)


def _said(done: Outcome) -> str:
    return done.output[-4096:].decode("utf-8", "replace")
