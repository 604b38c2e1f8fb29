"""Law 3 from the other side of the wire: a caller may be cancelled anywhere, and nothing is lost or left behind."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from agents.sandbox.errors import PtySessionNotFoundError
from agents.sandbox.session import SandboxSession
from agents.sandbox.session.pty_types import PtyExecUpdate
from cancelling import When, cancelled_at
from stage import PYTHON, Server, run, session

from ptyard_agents import PtyardSandboxClientOptions

# Windows end with the first output, so that thousands of them fit into a test.
EAGER = PtyardSandboxClientOptions(until=("regex:.",))

LINES = 4_000
# Writes are cut inside characters; the pause lets windows begin and end anywhere.
COUNTER = f"""
import os, time
for i in range({LINES}):
    data = f"{{i:04d}} é☃𝄞\\n".encode()
    os.write(1, data[:7]); os.write(1, data[7:])
    if i % 4 == 0: time.sleep(0.002)
raise SystemExit(9)
"""
COUNTED = "".join(f"{i:04d} é☃𝄞\n" for i in range(LINES))


def open_files() -> set[str]:
    names = set()
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.add(os.readlink(f"/proc/self/fd/{fd}"))
    return {name for name in names if name.startswith(("socket:", "/"))}


async def start_counter(made: SandboxSession) -> int:
    await made.write(Path("counter.py"), io.BytesIO(COUNTER.encode()))
    update = await made.pty_exec_start("sleep 0.3; exec /usr/bin/env python3 counter.py", yield_time_s=0.25)
    assert update.process_id is not None
    assert update.output == b""
    return update.process_id


async def every_await(act: Callable[[], Coroutine[Any, Any, Any]], after: Callable[[Any], None]) -> int:
    """Cancels ``act`` at its first, second, ... await until it has no more of them. How many there were."""
    for count in range(1, 400):
        reached = False
        for when in When:
            was_reached, value = await cancelled_at(count, when, act())
            reached = reached or was_reached
            if value is not None:
                after(value)
        if not reached:
            return count - 1
    raise AssertionError("it never ends")


def test_law_03_a_poll_cancelled_at_every_await_loses_no_byte(yard: Server) -> None:
    async def work() -> None:
        async with session(yard, EAGER) as made:
            at = await start_counter(made)
            told: list[bytes] = []
            ended: list[PtyExecUpdate] = []

            def take(update: PtyExecUpdate) -> None:
                told.append(update.output)
                if update.process_id is None:
                    ended.append(update)

            awaits = await every_await(lambda: made.pty_write_stdin(session_id=at, chars=""), take)
            assert awaits >= 4
            while not ended:
                take(await made.pty_write_stdin(session_id=at, chars=""))
            assert b"".join(told).decode() == COUNTED
            assert [each.exit_code for each in ended] == [9]

    run(work())


@pytest.mark.parametrize("seed", range(2))
def test_law_03_a_storm_of_cancellations_and_two_readers_lose_no_byte(yard: Server, seed: int) -> None:
    chance = random.Random(seed)

    async def work() -> None:
        async with session(yard, EAGER) as made:
            at = await start_counter(made)
            told: list[bytes] = []
            codes: list[int | None] = []
            cancelled = 0

            async def reader(hurry_s: float) -> None:
                nonlocal cancelled
                while not codes:

                    async def poll() -> None:
                        # Delivered and written down in one step, so the order is that of the deliveries.
                        update = await made.pty_write_stdin(session_id=at, chars="", max_output_tokens=None)
                        told.append(update.output)
                        if update.process_id is None:
                            codes.append(update.exit_code)

                    task = asyncio.ensure_future(poll())
                    if chance.random() < 0.5:
                        for _ in range(chance.randrange(30)):
                            await asyncio.sleep(0)
                    else:
                        await asyncio.sleep(chance.random() * hurry_s)
                    if chance.random() < 0.8:
                        cancelled += task.cancel()
                    try:
                        await task
                    except asyncio.CancelledError:
                        pass
                    except PtySessionNotFoundError:
                        assert codes, "only once its end was told"

            await asyncio.gather(reader(0.004), reader(0.02))
            assert b"".join(told).decode() == COUNTED
            assert set(codes) == {9}
            assert cancelled > 50

    run(work())


def test_law_03_a_window_on_its_way_when_its_caller_left_comes_before_the_next(yard: Server) -> None:
    """Each reply is lost at the last moment: the server has handed it over, the caller never sees it."""

    async def work() -> None:
        async with session(yard, EAGER) as made:
            update = await made.pty_exec_start(f"{PYTHON} -q", tty=True, yield_time_s=5)
            told = update.output
            assert update.process_id is not None
            while b">>> " not in told:
                told += (await made.pty_write_stdin(session_id=update.process_id, chars="")).output
            for number in range(20):
                lost = asyncio.ensure_future(
                    made.pty_write_stdin(session_id=update.process_id, chars=f"{number}+1000\n")
                )
                await asyncio.sleep(0.05)
                lost.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    told += (await lost).output
            while b"1019" not in told or not told.endswith(b">>> "):
                told += (await made.pty_write_stdin(session_id=update.process_id, chars="")).output
            answers = "".join(f"{n}+1000\r\n{n + 1000}\r\n>>> " for n in range(20))
            assert told.decode() == ">>> " + answers

    run(work())


def test_typing_cancelled_at_every_await_types_each_text_once_or_not_at_all(yard: Server) -> None:
    async def work() -> None:
        async with session(yard, EAGER) as made:
            update = await made.pty_exec_start("stty -echo; echo ready; exec cat", tty=True, yield_time_s=5)
            at = update.process_id
            assert at is not None
            told = update.output
            sent = 0
            surely: list[int] = []

            async def type_next() -> PtyExecUpdate:
                nonlocal sent
                sent += 1
                mine = sent
                typed = await made.pty_write_stdin(session_id=at, chars=f"<{mine}>\n", yield_time_s=0.25)
                surely.append(mine)
                return typed

            def take(each: PtyExecUpdate) -> None:
                nonlocal told
                told += each.output

            await every_await(type_next, take)
            take(await made.pty_write_stdin(session_id=at, chars="end\n", yield_time_s=0.25))
            while b"end\r\n" not in told:
                take(await made.pty_write_stdin(session_id=at, chars=""))
            lines = told.decode().split()
            assert (lines[0], lines[-1]) == ("ready", "end")
            numbers = [int(line.strip("<>")) for line in lines[1:-1]]
            assert numbers == sorted(set(numbers)), "in order, none twice"
            assert set(surely) <= set(numbers) <= set(range(1, sent + 1))

    run(work())


def test_a_start_cancelled_at_every_await_leaves_no_program(yard: Server) -> None:
    async def work() -> None:
        async with session(yard, EAGER) as made:
            kept: list[int] = []

            def keep(update: PtyExecUpdate) -> None:
                assert update.process_id is not None
                kept.append(update.process_id)

            awaits = await every_await(
                lambda: made.pty_exec_start("echo started; exec sleep 600", tty=True, yield_time_s=5), keep
            )
            assert awaits >= 4
            assert sorted(each["session_id"] for each in yard.running()) == sorted(kept)
            assert len(yard.cli("list")) == len(kept), "no log is left either"

    run(work())
    assert yard.cli("list") == []


def test_a_command_cancelled_at_every_await_leaves_no_program_and_no_file(
    yard: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    async def work() -> None:
        async with session(yard) as made:
            await every_await(lambda: made.exec("echo out; echo err >&2; sleep 0.02"), lambda _: None)
            assert yard.cli("list") == []
            (workspace,) = temporary.iterdir()
            assert str(workspace) == str(made.state.manifest.root)

    run(work())
    assert list(temporary.iterdir()) == []


def test_ending_all_cancelled_at_every_await_ends_all(yard: Server) -> None:
    async def work() -> None:
        async with session(yard, EAGER) as made:
            before = open_files()

            async def three_of_them() -> None:
                await asyncio.gather(*(made.pty_exec_start("echo x; exec sleep 600", tty=True) for _ in range(3)))

            for count in range(1, 200):
                await three_of_them()
                reached, _ = await cancelled_at(count, When.WAITING, made.pty_terminate_all())
                assert yard.running() == []
                if not reached:
                    break
            assert len(open_files() - before) <= 16, "idle connections to the server, at most"

    run(work())


def test_a_file_written_by_a_cancelled_call_is_whole(yard: Server) -> None:
    data = os.urandom(1 << 20)

    async def work() -> None:
        async with session(yard) as made:
            target = Path(made.state.manifest.root) / "file"
            for count in range(1, 50):
                target.write_bytes(b"old")
                reached, _ = await cancelled_at(count, When.WAITING, made.write(Path("file"), io.BytesIO(data)))
                assert target.read_bytes() in (b"old", data)
                if not reached:
                    assert target.read_bytes() == data
                    break

    run(work())
