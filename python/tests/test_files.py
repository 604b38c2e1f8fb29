"""Files of the workspace, on this machine and through commands."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from agents.sandbox.errors import (
    InvalidManifestPathError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
)
from agents.sandbox.session import SandboxSession
from stage import Server, run, session

from ptyard_agents import PtyardSandboxSession
from ptyard_agents._remote_files import RemoteFiles

EVERY_BYTE = bytes(range(256)) * 10_000 + "é\r\n\0".encode()


@asynccontextmanager
async def stage(yard: Server, *, remote: bool) -> AsyncIterator[SandboxSession]:
    """A session; ``remote`` reaches its files as a backend elsewhere does, through commands only."""
    async with session(yard) as made:
        inner = made._inner
        assert isinstance(inner, PtyardSandboxSession)
        if remote:
            inner._remote = RemoteFiles(inner._commands)
        yield made


both = pytest.mark.parametrize("remote", [False, True], ids=["here", "through commands"])


@both
def test_files_are_written_and_read_byte_for_byte(yard: Server, remote: bool) -> None:
    async def work() -> None:
        async with stage(yard, remote=remote) as made:
            for data in (b"", b"x", EVERY_BYTE):
                await made.write(Path("new/dir/file name"), io.BytesIO(data))
                with await made.read(Path("new/dir/file name")) as file:
                    assert file.read() == data
                assert await made.read_bounded(Path("new/dir/file name"), max_bytes=7) == data[:7]
            assert [Path(each.path).name for each in await made.ls("new/dir")] == ["file name"]
            await made.mv("new/dir/file name", "moved")
            await made.rm("new", recursive=True)
            assert [Path(each.path).name for each in await made.ls(".")] == ["moved"]

    run(work())
    assert yard.cli("list") == []


@both
def test_what_is_no_file_in_the_workspace_is_refused(yard: Server, remote: bool) -> None:
    async def work() -> None:
        async with stage(yard, remote=remote) as made:
            root = Path(made.state.manifest.root)
            (root / "out").symlink_to("/etc")
            os.mkfifo(root / "pipe")
            with pytest.raises(WorkspaceReadNotFoundError):
                await made.read(Path("missing"))
            with pytest.raises(WorkspaceArchiveReadError):
                await made.read(Path("pipe"))
            with pytest.raises(WorkspaceArchiveReadError):
                await made.read(Path("."))
            with pytest.raises(InvalidManifestPathError):
                await made.read(Path("out/hostname"))
            with pytest.raises(InvalidManifestPathError):
                await made.write(Path("out/written"), io.BytesIO(b"x"))
            with pytest.raises(InvalidManifestPathError):
                await made.read(Path("../file"))
            (root / "taken").write_bytes(b"theirs")
            with pytest.raises((FileExistsError, WorkspaceArchiveWriteError)):
                await made._write_new_file(Path("taken"), io.BytesIO(b"ours"))
            assert (root / "taken").read_bytes() == b"theirs"

    run(work())


@both
def test_a_workspace_is_packed_and_unpacked(yard: Server, remote: bool) -> None:
    async def work() -> None:
        async with stage(yard, remote=remote) as made, stage(yard, remote=remote) as other:
            await made.exec("mkdir -p d/e; printf 'a\\0b' > d/file; chmod 755 d/file; ln -s file d/link; echo > skip")
            made.register_persist_workspace_skip_path("skip")
            with await made.persist_workspace() as packed:
                await other.hydrate_workspace(packed)
            root = Path(other.state.manifest.root)
            assert (root / "d/link").read_bytes() == b"a\0b"
            assert (root / "d/file").stat().st_mode & 0o777 == 0o755
            assert sorted(os.listdir(root)) == ["d"]
            assert os.listdir(root / "d/e") == []

    run(work())


def test_a_command_prints_to_two_streams_any_bytes(yard: Server) -> None:
    async def work() -> None:
        async with session(yard) as made:
            await made.write(Path("bytes"), io.BytesIO(EVERY_BYTE))
            result = await made.exec("cat bytes; cat bytes >&2; kill -9 $$")
            assert result.exit_code == -9
            assert result.stdout == EVERY_BYTE
            assert result.stderr == EVERY_BYTE

    run(work())
