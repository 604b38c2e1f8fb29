"""A sandbox session whose commands run in ptyard."""

from __future__ import annotations

import asyncio
import functools
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agents.sandbox.errors import (
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
    WorkspaceRootNotFoundError,
    WorkspaceStartError,
    WorkspaceStopError,
)
from agents.sandbox.materialization import MaterializationResult
from agents.sandbox.session import BaseSandboxSession
from agents.sandbox.session.pty_types import PtyExecUpdate
from agents.sandbox.session.workspace_payloads import coerce_write_payload
from agents.sandbox.types import ExecResult, ExposedPortEndpoint, User
from agents.sandbox.util.tar_utils import UnsafeTarMemberError

from . import _local_files
from ._command import Commands, transport_error
from ._remote_files import RemoteFiles
from ._settle import settled
from ._terminals import Terminals, logger
from ._wire import ExecRequest
from ._yard import Yard
from .errors import YardError
from .options import PtyardSandboxSessionState

T = TypeVar("T")

# What programs on this machine take from the process that uses them: who and where it is, nothing that authorises.
_STATED = ("PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR")


class PtyardSandboxSession(BaseSandboxSession):
    """Runs every command of a session in ptyard.

    Cancelling a call at any await loses no output and leaves no program behind: a window that was not returned is
    returned by the next call, and a program whose id was not returned is ended.
    """

    state: PtyardSandboxSessionState

    def __init__(self, state: PtyardSandboxSessionState, yard: Yard) -> None:
        self.state = state
        self._yard = yard
        self._terminals = Terminals(yard, state.session_id, state.until)
        self._commands = Commands(self._terminals, state.backend)
        self._remote = None if state.backend == "local" else RemoteFiles(self._commands)
        self._running = False

    # Life

    async def _ensure_backend_started(self) -> None:
        await self._yard.check()
        root = self._root
        if self._remote is None:
            preserved = await asyncio.to_thread(root.is_dir)
            self._set_start_state_preserved(self.state.workspace_root_ready and preserved)
        self._running = True

    async def _prepare_backend_workspace(self) -> None:
        if self._remote is not None:
            done = await self._commands.raw(
                self._plain_request(["mkdir", "-p", "--", str(self._root)]), timeout=None, shown=("mkdir",)
            )
            if done.status:
                raise WorkspaceStartError(path=self._root, message=done.output.decode("utf-8", "replace"))
            return
        await _in_thread(functools.partial(self._root.mkdir, parents=True, exist_ok=True))

    async def _after_start_failed(self) -> None:
        self._running = False

    def _wrap_start_error(self, error: Exception) -> Exception:
        if isinstance(error, YardError | OSError):
            return WorkspaceStartError(path=self._root, message=str(error), cause=error)
        return error

    def _wrap_stop_error(self, error: Exception) -> Exception:
        return WorkspaceStopError(path=self._root, cause=error)

    async def _before_stop(self) -> None:
        await self._close_terminals()

    async def _before_shutdown(self) -> None:
        await self._close_terminals()

    async def _close_terminals(self) -> None:
        if self.state.on_close == "end":
            await self.pty_terminate_all()

    async def _after_shutdown(self) -> None:
        self._running = False
        await self._yard.aclose()

    async def running(self) -> bool:
        return self._running

    async def discard(self) -> None:
        """Ends and removes everything of the session but its files."""
        try:
            if self._yard.place.socket.exists():
                await self._terminals.remove_all()
        except YardError as error:
            logger.warning("the terminals of session %s could not be removed: %s", self.state.session_id, error)
        await self._yard.aclose()

    # Programs

    def supports_pty(self) -> bool:
        return True

    async def pty_exec_start(
        self,
        *command: str | Path,
        timeout: float | None = None,
        shell: bool | list[str] = True,
        user: str | User | None = None,
        tty: bool = False,
        yield_time_s: float | None = None,
        max_output_tokens: int | None = None,
    ) -> PtyExecUpdate:
        del timeout  # A program may run as long as it likes; windows have their own time.
        argv = self._prepare_exec_command(*command, shell=shell, user=user)
        request = await self._request(argv)
        request["tty"] = tty
        if tty:
            request["size"] = self.state.size
        try:
            return await self._terminals.start(
                request, yield_time_s=yield_time_s, max_output_tokens=max_output_tokens
            )
        except YardError as error:
            raise _start_error(error, argv) from error

    async def pty_write_stdin(
        self,
        *,
        session_id: int,
        chars: str,
        yield_time_s: float | None = None,
        max_output_tokens: int | None = None,
    ) -> PtyExecUpdate:
        try:
            return await self._terminals.write(
                session_id, chars, yield_time_s=yield_time_s, max_output_tokens=max_output_tokens
            )
        except YardError as error:
            raise transport_error(error, ("write_stdin", str(session_id))) from error

    async def pty_terminate_all(self) -> None:
        """Ends every terminal of the session. What fails is told in the log and holds nothing up."""
        try:
            if self._yard.place.socket.exists():
                await self._terminals.end_all()
        except YardError as error:
            logger.warning("the terminals of session %s could not be ended: %s", self.state.session_id, error)

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> ExecResult:
        argv = [str(part) for part in command]
        return await self._commands.run(await self._request(argv), timeout=timeout, shown=argv)

    def _prepare_exec_command(
        self, *command: str | Path, shell: bool | list[str], user: str | User | None
    ) -> list[str]:
        if shell is True and self._remote is None:
            # A login shell would replace the PATH of this machine by the one of its profile.
            shell = ["sh", "-c"]
        return super()._prepare_exec_command(*command, shell=shell, user=user)

    async def _request(self, argv: list[str]) -> ExecRequest:
        request = self._plain_request(argv)
        request["env"] = dict(await self.state.manifest.environment.resolve())
        request["cwd"] = str(self._root)
        if self._remote is None:
            if not await asyncio.to_thread(self._root.is_dir):
                raise WorkspaceRootNotFoundError(path=self._root)
            request["env"]["HOME"] = str(self._root)
        return request

    def _plain_request(self, argv: list[str]) -> ExecRequest:
        request: ExecRequest = {"argv": argv, "backend": self.state.backend}
        if self._remote is None:
            kept = {name: os.environ.get(name) for name in (*_STATED, *filter(_is_locale, os.environ))}
            request["caller_env"] = {name: value for name, value in kept.items() if value is not None}
        return request

    async def _resolve_exposed_port(self, port: int) -> ExposedPortEndpoint:
        if self._remote is None:
            return ExposedPortEndpoint(host="127.0.0.1", port=port, tls=False)
        return await super()._resolve_exposed_port(port)

    # Files

    @property
    def _root(self) -> Path:
        return Path(self.state.manifest.root)

    def normalize_path(self, path: Path | str, *, for_write: bool = False) -> Path:
        policy = self._workspace_path_policy()
        return policy.normalize_path(path, for_write=for_write, resolve_symlinks=self._remote is None)

    async def _validate_path_access(self, path: Path | str, *, for_write: bool = False) -> Path:
        if self._remote is not None:
            return await self._validate_remote_path_access(path, for_write=for_write)
        # Where the path leads must be allowed; what it names is acted on, so that a link can be removed or renamed.
        self.normalize_path(path, for_write=for_write)
        return self._workspace_path_policy().normalize_path(path, for_write=for_write)

    def _file_request(self, user: str | User | None) -> Callable[[list[str]], ExecRequest]:
        def request(argv: list[str]) -> ExecRequest:
            return self._plain_request(self._prepare_exec_command(*argv, shell=False, user=user))

        return request

    def _through_commands(self, user: str | User | None) -> RemoteFiles | None:
        """Files that this process may not or cannot reach itself."""
        if self._remote is None and user is not None:
            return RemoteFiles(self._commands)
        return self._remote

    async def read(self, path: Path, *, user: str | User | None = None) -> io.IOBase:
        if (files := self._through_commands(user)) is not None:
            target = await self._validate_path_access(path)
            return io.BytesIO(await files.read(target, self._file_request(user)))
        return await self._local(functools.partial(_local_files.read, self.normalize_path(path)), reading=path)

    async def _read_bounded(self, path: Path, *, max_bytes: int) -> bytes:
        if self._remote is not None:
            target = await self._validate_path_access(path)
            return await self._remote.read(target, self._file_request(None), max_bytes)
        act = functools.partial(_local_files.read_bounded, self.normalize_path(path), max_bytes)
        return await self._local(act, reading=path)

    async def write(self, path: Path, data: io.IOBase, *, user: str | User | None = None) -> None:
        await self._write(path, data, user=user, new=False)

    async def _write_new_file(self, path: Path, data: io.IOBase, *, user: str | User | None = None) -> None:
        await self._write(path, data, user=user, new=True)

    async def _write(self, path: Path, data: io.IOBase, *, user: str | User | None, new: bool) -> None:
        stream = coerce_write_payload(path=path, data=data).stream
        if (files := self._through_commands(user)) is not None:
            target = await self._validate_path_access(path, for_write=True)
            payload = await _in_thread(stream.read)
            await files.write(target, payload, self._file_request(user), new=new)
            return
        if new:
            target = self.normalize_path(Path(path).parent, for_write=True) / Path(path).name
        else:
            target = self.normalize_path(path, for_write=True)
        await self._local(functools.partial(_local_files.write, target, stream, new=new), writing=target)

    async def _local(self, act: Callable[[], T], *, reading: Path | None = None, writing: Path | None = None) -> T:
        """Acts on files of this machine, to the end also when cancelled."""
        try:
            return await _in_thread(act)
        except FileNotFoundError as error:
            if reading is not None:
                raise WorkspaceReadNotFoundError(path=reading, cause=error) from error
            raise WorkspaceArchiveWriteError(path=writing or self._root, cause=error) from error
        except FileExistsError:
            raise
        except UnsafeTarMemberError as error:
            context = {"reason": error.reason, "member": error.member}
            raise WorkspaceArchiveWriteError(path=self._root, context=context, cause=error) from error
        except (OSError, tarfile.TarError) as error:
            if reading is not None:
                raise WorkspaceArchiveReadError(path=reading, cause=error) from error
            raise WorkspaceArchiveWriteError(path=writing or self._root, cause=error) from error

    async def persist_workspace(self) -> io.IOBase:
        skip = self._persist_workspace_skip_relpaths()
        if self._remote is not None:
            return await self._remote.pack(self._root, skip, self._file_request(None))
        return await self._local(functools.partial(_local_files.pack, self._root, skip), reading=self._root)

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        if self._remote is not None:
            await self._local(functools.partial(_local_files.check_packed, data), writing=self._root)
            await self._remote.unpack(self._root, await _in_thread(data.read), self._file_request(None))
            return
        await self._local(functools.partial(_local_files.unpack, self._root, data), writing=self._root)

    # Manifest

    async def _apply_manifest(
        self, *, only_ephemeral: bool = False, provision_accounts: bool = True
    ) -> MaterializationResult:
        self._refuse_accounts()
        return await super()._apply_manifest(only_ephemeral=only_ephemeral, provision_accounts=provision_accounts)

    async def provision_manifest_accounts(self) -> None:
        self._refuse_accounts()
        await super().provision_manifest_accounts()

    def _refuse_accounts(self) -> None:
        if self._remote is None and (self.state.manifest.users or self.state.manifest.groups):
            raise ValueError("the local backend makes no users or groups: they would be accounts of this machine")


def _is_locale(name: str) -> bool:
    return name.startswith("LC_")


async def _in_thread(act: Callable[[], T]) -> T:
    return await settled(asyncio.to_thread(act))


def _start_error(error: YardError, argv: list[str]) -> Exception:
    if error.code == "program_not_found":
        return FileNotFoundError(str(error))
    if error.code == "program_not_executable":
        return PermissionError(str(error))
    return transport_error(error, argv)
