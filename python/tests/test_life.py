"""Sessions begin, end, die and are taken up again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from agents.sandbox import LocalSnapshotSpec, Manifest
from agents.sandbox.entries import File
from agents.sandbox.errors import ExecTimeoutError, PtySessionNotFoundError, WorkspaceStartError
from agents.sandbox.session import SandboxSession
from stage import PYTHON, Server, run, session

from ptyard_agents import PtyardSandboxClient, PtyardSandboxClientOptions, PtyardSandboxSessionState, YardError

KEEP = PtyardSandboxClientOptions(on_close="keep")

# Starts a program whose input and output show that it is one and the same, says where, and hangs.
OTHER_PROCESS = """
import asyncio, json, sys
from pathlib import Path
from ptyard_agents import PtyardSandboxClient

async def main():
    client = PtyardSandboxClient(state_dir=sys.argv[1], program=sys.argv[2])
    session = await client.create()
    await session.start()
    update = await session.pty_exec_start("stty -echo; echo first; exec cat", tty=True, yield_time_s=0.5)
    told = update.output
    while b"first" not in told:
        told += (await session.pty_write_stdin(session_id=update.process_id, chars="")).output
    payload = client.serialize_session_state(session.state)
    print(json.dumps({"at": update.process_id, "state": payload}, default=str), flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


async def resumed(client: PtyardSandboxClient, payload: dict[str, object]) -> SandboxSession:
    return await client.resume(client.deserialize_session_state(payload))


def test_a_terminal_outlives_the_process_that_started_it_and_is_found_by_its_id(yard: Server) -> None:
    command = [sys.executable, "-c", OTHER_PROCESS, str(yard.state), yard.program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        kept = json.loads(other.stdout.readline())
        other.send_signal(signal.SIGKILL)
    at: int = kept["at"]

    async def work() -> None:
        client = yard.client()
        made = await resumed(client, kept["state"])
        async with made:
            update = await made.pty_write_stdin(session_id=at, chars="second\n", yield_time_s=1)
            assert (update.process_id, update.output) == (at, b"second\r\n")
        with pytest.raises(PtySessionNotFoundError):
            await made.pty_write_stdin(session_id=at, chars="")
        await client.delete(made)

    run(work())
    assert yard.cli("list") == []
    assert not Path(kept["state"]["manifest"]["root"]).exists()


def test_a_closed_session_ends_its_terminals_unless_it_is_to_keep_them(yard: Server) -> None:
    async def work() -> None:
        client = yard.client()
        for options, left in ((None, 0), (KEEP, 1)):
            made = await client.create(options=options)
            async with made:
                update = await made.pty_exec_start("echo x; exec sleep 600", yield_time_s=0.25)
                at = update.process_id
                assert at is not None
            assert len(yard.running()) == left
            again = await resumed(client, client.serialize_session_state(made.state))
            async with again:
                if left:
                    polled = await again.pty_write_stdin(session_id=at, chars="", yield_time_s=5)
                    assert polled.process_id == at
            await client.delete(again)
            assert yard.cli("list") == []

    run(work())


def test_ids_belong_to_one_session(yard: Server) -> None:
    async def work() -> None:
        async with session(yard) as one, session(yard) as other:
            update = await one.pty_exec_start("exec cat", tty=True, yield_time_s=0.25)
            assert update.process_id is not None
            with pytest.raises(PtySessionNotFoundError, match=f"PTY session not found: {update.process_id}"):
                await other.pty_write_stdin(session_id=update.process_id, chars="x")

    run(work())


def test_whoever_waits_when_a_session_ends_gets_the_last_output_and_the_end(yard: Server) -> None:
    async def work() -> None:
        async with session(yard) as made:
            started = await made.pty_exec_start(
                "trap 'echo bye; exit 4' HUP TERM; echo x; while :; do sleep 0.05; done", tty=True, yield_time_s=0.25
            )
            assert started.process_id is not None
            waiting = asyncio.ensure_future(
                made.pty_write_stdin(session_id=started.process_id, chars="", yield_time_s=30)
            )
            await asyncio.sleep(0.2)
            await made.pty_terminate_all()
            update = await waiting
            assert (update.process_id, update.exit_code) == (None, 4)
            told = (started.output + update.output).replace(b"\r", b"")
            # Its shell may say more: the signal reaches what it runs, too.
            assert told.startswith(b"x\n")
            assert told.endswith(b"bye\n")

    run(work())


def test_a_killed_server_is_started_again_and_nothing_is_lost_or_typed_twice(yard: Server) -> None:
    async def work() -> None:
        async with session(yard, PtyardSandboxClientOptions(until=("regex:.",))) as made:
            update = await made.pty_exec_start("stty -echo; echo ready; exec cat", tty=True, yield_time_s=5)
            at = update.process_id
            assert at is not None
            told = update.output
            waiting = asyncio.ensure_future(made.pty_write_stdin(session_id=at, chars="", yield_time_s=30))
            await asyncio.sleep(0.2)
            os.kill(yard.pid(), signal.SIGKILL)
            await asyncio.sleep(0)
            for number in range(3):
                told += (await made.pty_write_stdin(session_id=at, chars=f"{number}\n", yield_time_s=5)).output
            told += (await waiting).output
            while told.count(b"\n") < 4:
                told += (await made.pty_write_stdin(session_id=at, chars="")).output
            assert sorted(told.split()) == [b"0", b"1", b"2", b"ready"]

    run(work())


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(yard: Server) -> None:
    async def work() -> None:
        async with session(yard) as made:
            with pytest.raises(ExecTimeoutError):
                await made.exec("setsid sleep 600 & sleep 600", timeout=0.5)
            assert yard.cli("list") == []

    run(work())


def test_what_a_command_leaves_running_goes_with_the_session(yard: Server) -> None:
    async def work() -> int:
        async with session(yard) as made:
            result = await made.exec("setsid sleep 600 >/dev/null 2>&1 & echo $!")
            assert (result.exit_code, result.stderr) == (0, b"")
            pid = int(result.stdout)
            os.kill(pid, 0)
        return pid

    pid = run(work())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_resumed_workspace_is_taken_as_it_is_and_a_lost_one_comes_from_its_snapshot(
    yard: Server, tmp_path: Path
) -> None:
    manifest = Manifest(entries={"given": File(content=b"from the manifest")})
    snapshots = LocalSnapshotSpec(base_path=tmp_path / "snapshots")

    async def work() -> None:
        client = yard.client()
        made = await client.create(manifest=manifest, snapshot=snapshots)
        root = Path(made.state.manifest.root)
        async with made:
            assert (root / "given").read_bytes() == b"from the manifest"
            await made.exec("echo changed > given; mkdir d; ln given d/same; ln -s ../given d/link; mkfifo pipe")
        (root / "given").write_text("changed after it was closed")
        async with await resumed(client, client.serialize_session_state(made.state)) as drifted:
            assert (root / "given").read_text() == "changed\n", "the snapshot counts when there is one"
        await client.delete(drifted)
        assert not root.exists()
        async with await resumed(client, client.serialize_session_state(drifted.state)) as again:
            result = await again.exec("cat given d/same d/link; ls")
            assert result.stdout == b"changed\n" * 3 + b"d\ngiven\n"
        await client.delete(again)

    run(work())


def test_a_workspace_without_snapshot_is_not_written_anew(yard: Server) -> None:
    async def work() -> None:
        client = yard.client()
        made = await client.create(manifest=Manifest(entries={"given": File(content=b"x")}), options=KEEP)
        async with made:
            await made.exec("echo changed > given")
        async with await resumed(client, client.serialize_session_state(made.state)) as again:
            assert (await again.exec("cat given")).stdout == b"changed\n"
        await client.delete(again)

    run(work())


def test_more_terminals_than_a_model_may_have_end_the_least_used(yard: Server) -> None:
    async def work() -> None:
        async with session(yard, PtyardSandboxClientOptions(until=("regex:.",))) as made:
            ids = [
                (await made.pty_exec_start("echo x; exec sleep 600", yield_time_s=5)).process_id for _ in range(65)
            ]
            assert len(set(ids)) == 65
            first = await made.pty_write_stdin(session_id=ids[0] or 0, chars="", yield_time_s=5)
            assert first.process_id is None
            assert first.exit_code in (-1, -15, -9)
            assert len(yard.running()) == 64

    run(work())


def test_without_a_program_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PTYARD_BIN", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")

    async def work() -> None:
        client = PtyardSandboxClient(state_dir=tmp_path / "none")
        made = await client.create()
        with pytest.raises(WorkspaceStartError, match="put it on PATH, or set PTYARD_BIN") as refused:
            await made.start()
        assert isinstance(refused.value.cause, YardError)
        await client.delete(made)

    run(work())


@pytest.mark.parametrize(
    ("program", "step"),
    [("/nonexistent/ptyard", "put it on PATH, or set PTYARD_BIN"), ("/bin/true", "/bin/true started none in .*none: is it")],
)
def test_with_another_program_the_error_says_what_to_do(tmp_path: Path, program: str, step: str) -> None:
    async def work() -> None:
        client = PtyardSandboxClient(state_dir=tmp_path / "none", program=program)
        made = await client.create()
        with pytest.raises(WorkspaceStartError, match=step):
            await made.start()
        await client.delete(made)

    run(work())


def test_a_program_that_does_not_exist_is_not_found(yard: Server) -> None:
    async def work() -> None:
        async with session(yard) as made:
            with pytest.raises(FileNotFoundError):
                await made.pty_exec_start("/no/such/program", shell=False)
            assert (await made.exec("/no/such/program", shell=False)).exit_code == 127
            assert yard.cli("list") == []

    run(work())


def test_a_session_is_used_in_one_event_loop_after_another(yard: Server) -> None:
    client = yard.client()
    made = run(client.create(options=KEEP))
    assert isinstance(made.state, PtyardSandboxSessionState)

    async def start() -> int | None:
        async with made:
            return (await made.pty_exec_start(f"{PYTHON} -q", tty=True, yield_time_s=0.25)).process_id

    async def end(at: int | None) -> int | None:
        async with made:
            update = await made.pty_write_stdin(session_id=at or 0, chars="exit(3)\n", yield_time_s=10)
            return update.exit_code

    assert run(end(run(start()))) == 3
    run(client.delete(made))
