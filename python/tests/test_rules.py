"""How the server is found and started, and rules that a program would have to be lucky to meet."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agents.sandbox import Manifest
from agents.sandbox.workspace_paths import SandboxPathGrant
from stage import Server, run, session

from ptyard_agents import PtyardSandboxClient, YardError
from ptyard_agents._capped import of_window
from ptyard_agents._place import Place, default_state_dir
from ptyard_agents._terminal import Terminal
from ptyard_agents._terminals import Terminals, yield_ms
from ptyard_agents._wire import MAX_TOKENS, PROTOCOL, ExecRequest, Exit, Window
from ptyard_agents._yard import Yard


def test_the_state_directory_is_that_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("PTYARD_STATE", raising=False)
    for base, expected in [
        (None, "/home/somebody/.local/state/ptyard"),
        ("relative", "/home/somebody/.local/state/ptyard"),
        ("/var/state", "/var/state/ptyard"),
    ]:
        monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        if base is not None:
            monkeypatch.setenv("XDG_STATE_HOME", base)
        assert default_state_dir() == Path(expected)
    monkeypatch.setenv("PTYARD_STATE", "/srv/yard")
    assert Place.of(None, None).socket == Path("/srv/yard/ptyard.sock")
    assert Place.of("~/own", None).state_dir == Path("/home/somebody/own")


def test_the_server_is_started_by_the_program_that_is_named(
    tmp_path: Path, yard: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "bin/ptyard"
    other.parent.mkdir()
    other.write_text('#!/bin/sh\necho "error: this is the one on PATH" >&2; exit 3\n')
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}:/usr/bin:/bin")
    monkeypatch.delenv("PTYARD_BIN", raising=False)
    with pytest.raises(YardError, match="this is the one on PATH"):
        Place.of(yard.state, None).start()
    # What is named goes before what is found, and what is given before both.
    monkeypatch.setenv("PTYARD_BIN", yard.program)
    Place.of(yard.state, None).start()
    assert yard.cli("list") == []
    with pytest.raises(YardError, match="this is the one on PATH"):
        Place.of(yard.state, other).start()


class Answering(Yard):
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self, *answers: Window | YardError, version: dict[str, Any] | None = None) -> None:
        super().__init__(Place(Path("/nowhere"), None))
        self.answers = list(answers)
        self.version = version
        self.since: list[int | None] = []

    async def exec(self, request: ExecRequest) -> Window:
        return self._answer()

    async def write(self, at: str, *, since: int | None = None, **asked: Any) -> Window:
        self.since.append(since)
        return self._answer()

    def _answer(self) -> Window:
        answer = self.answers.pop(0)
        if isinstance(answer, YardError):
            raise answer
        return answer

    async def _send(self, method: str, path: str, **asked: Any) -> Any:
        version = self.version

        class Reply:
            def json(self) -> Any:
                return version

        return Reply()


def window(start: int, output: str, *, evicted: int = 0, unwritten: int = 0) -> Window:
    return Window("t", 1000, output, None, None, start, start + len(output) + evicted, evicted, unwritten, [])


def test_a_server_of_another_protocol_is_refused_with_what_to_do() -> None:
    run(Answering(version={"version": "1", "protocol": PROTOCOL}).check())
    with pytest.raises(YardError, match="install the one that belongs to it") as refused:
        run(Answering(version={"version": "9.9", "protocol": PROTOCOL + 1}).check())
    assert refused.value.code == "incompatible_server"


def test_bytes_that_are_gone_and_bytes_that_were_not_typed_are_told() -> None:
    terminal = Terminal("t", 1000, tty=True)
    yard = Answering(window(0, "tail", evicted=1_234), window(1_238, "", unwritten=5_000))
    told, _ = run(terminal.window(yard, "", yield_ms=0, cap=None))
    assert told.output == b"[ptyard: 1,234 bytes were printed here and are no longer kept]\ntail"
    told, _ = run(terminal.window(yard, "x", yield_ms=0, cap=None))
    assert told.output == b"\n[ptyard: the program did not read; 5,000 bytes of the input were not typed]\n"


def test_what_came_with_the_start_is_looked_at_by_the_first_window() -> None:
    request: ExecRequest = {"argv": ["x"], "tty": True}
    for until, printed, since in [(("regex:.",), "early", 0), (("regex:.",), "", None), ((), "early", None)]:
        yard = Answering(window(0, printed), window(0, "early"))
        terminals = Terminals(yard, uuid.UUID(int=1), until)
        run(terminals.start({**request}, yield_time_s=None, max_output_tokens=None))
        assert yard.since == [since]


@pytest.mark.parametrize("code", ["terminal_exited", "stdin_closed"])
def test_what_is_typed_too_late_brings_the_last_output_and_the_end(code: str) -> None:
    ended = replace(window(0, "bye"), exit=Exit(3, None, 0))
    yard = Answering(window(0, ""), window(0, ""), YardError(code, "it has ended"), ended)
    terminals = Terminals(yard, uuid.UUID(int=1), ())
    run(terminals.start({"argv": ["x"], "tty": True}, yield_time_s=None, max_output_tokens=None))
    told = run(terminals.write(1000, "x", yield_time_s=None, max_output_tokens=None))
    assert (told.output, told.exit_code, told.process_id) == (b"bye", 3, None)


def test_a_window_that_the_server_cut_is_taken_from_the_log_where_no_cap_was_given() -> None:
    cut = replace(window(0, "head…tail"), original_token_count=MAX_TOKENS + 1)
    for cap in (None, MAX_TOKENS + 1):
        assert of_window(cut, cap) is None
    assert of_window(cut, 5) == ("head…tail", MAX_TOKENS + 1)


def test_times_are_clamped_as_the_sdk_does() -> None:
    assert [yield_ms(seconds, 10_000) for seconds in (None, 0, 1, 99)] == [10_000, 250, 1_000, 30_000]
    assert [yield_ms(seconds, 250, poll=True) for seconds in (None, 0, 6, 99)] == [5_000, 5_000, 6_000, 30_000]


def test_a_session_that_ends_ends_no_other(yard: Server) -> None:
    async def work() -> None:
        async with session(yard) as one, session(yard) as other:
            for each in (one, other):
                await each.pty_exec_start("exec sleep 600", yield_time_s=0.25)
            await one.pty_terminate_all()
            assert len(yard.running()) == 1

    run(work())


def test_a_grant_of_a_host_path_is_refused(yard: Server, tmp_path: Path) -> None:
    grant = SandboxPathGrant(path="/granted", host_path=str(tmp_path))
    with pytest.raises(ValueError, match="host_path, which ptyard cannot map"):
        run(PtyardSandboxClient(state_dir=yard.state).create(manifest=Manifest(extra_path_grants=(grant,))))
