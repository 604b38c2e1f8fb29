"""An agent of the published SDK with its own shell tools, on ptyard."""

from __future__ import annotations

import asyncio
import re

import pytest
from agents.sandbox import SandboxRunConfig
from stage import PYTHON, Script, Server, exec_command, play, run, write_stdin


def play_one(yard: Server, script: Script) -> None:
    run(play(script, SandboxRunConfig(client=yard.client())))
    assert yard.cli("list") == [], "a session that is over leaves nothing"


def test_a_command_that_ends_returns_at_once_with_its_output_and_code(yard: Server) -> None:
    def script() -> Script:
        reply = yield exec_command("echo hello; echo to-stderr >&2; exit 3", yield_time_ms=30_000)
        assert (reply.exit_code, reply.session_id, reply.tokens) == (3, None, None)
        assert reply.output == "hello\nto-stderr\n"
        reply = yield exec_command("true", yield_time_ms=30_000)
        assert (reply.exit_code, reply.output) == (0, "")

    play_one(yard, script())


def test_a_repl_answers_is_interrupted_and_ends(yard: Server) -> None:
    def script() -> Script:
        reply = yield exec_command(f"{PYTHON} -q", tty=True, yield_time_ms=1_000)
        assert reply.exit_code is None
        assert reply.session_id is not None
        at = reply.session_id
        assert 1_000 <= at <= 99_999
        while ">>> " not in reply.output:
            reply = yield write_stdin(at)
        reply = yield write_stdin(at, "6*7\n", yield_time_ms=1_000)
        assert (reply.session_id, reply.output) == (at, "6*7\r\n42\r\n>>> ")
        yield write_stdin(at, "import time; time.sleep(600)\n", yield_time_ms=250)
        reply = yield write_stdin(at, "\x03", yield_time_ms=2_000)
        assert "KeyboardInterrupt" in reply.output
        assert reply.session_id == at
        reply = yield write_stdin(at, "raise SystemExit(7)\n", yield_time_ms=30_000)
        assert (reply.exit_code, reply.session_id) == (7, None)
        reply = yield write_stdin(at)
        assert (reply.exit_code, reply.output) == (1, f"write_stdin failed: PTY session not found: {at}")

    play_one(yard, script())


@pytest.mark.parametrize(("keys", "code"), [("\x03", -2), ("\x1c", -3)])
def test_a_signal_typed_on_a_fresh_tty_ends_the_program_and_is_told(yard: Server, keys: str, code: int) -> None:
    def script() -> Script:
        reply = yield exec_command("exec sleep 600", tty=True, yield_time_ms=500)
        assert reply.session_id is not None
        assert reply.exit_code is None
        reply = yield write_stdin(reply.session_id, keys, yield_time_ms=30_000)
        assert (reply.exit_code, reply.session_id) == (code, None)

    play_one(yard, script())


def test_a_character_split_between_windows_is_told_whole(yard: Server) -> None:
    # The euro sign comes in three pieces, one per line that is typed.
    program = (
        "import os\nfor byte in '€'.encode():\n    os.write(1, bytes([byte])); input()\nos.write(1, b'end\\n')\n"
    )

    def script() -> Script:
        reply = yield exec_command(f'stty -echo; {PYTHON} -c "{program}"', tty=True, yield_time_ms=2_000)
        told = reply.output
        for _ in range(3):
            assert reply.session_id is not None
            assert "\ufffd" not in reply.output
            reply = yield write_stdin(reply.session_id, "\n", yield_time_ms=1_000)
            told += reply.output
        assert (told, reply.exit_code) == ("€end\r\n", 0)

    play_one(yard, script())


def test_a_capped_window_keeps_head_and_tail_and_counts_the_whole(yard: Server) -> None:
    def script() -> Script:
        reply = yield exec_command("seq 1 100", max_output_tokens=20)
        assert (reply.exit_code, reply.tokens) == (0, 73)
        assert reply.output == (
            "Total output lines: 100\n\n1\n2\n3\n4\n5\n6\n7\n8…66 tokens truncated…6\n97\n98\n99\n100\n"
        )

    play_one(yard, script())


def test_the_end_comes_with_the_last_output_once_and_then_the_session_is_unknown(yard: Server) -> None:
    def script() -> Script:
        reply = yield exec_command("sleep 1; echo last; exit 5", yield_time_ms=250)
        at = reply.session_id
        assert at is not None
        assert reply.output == ""
        reply = yield write_stdin(at)
        assert (reply.output, reply.exit_code, reply.session_id) == ("last\n", 5, None)
        for chars in ("", "x"):
            reply = yield write_stdin(at, chars)
            assert reply.output == f"write_stdin failed: PTY session not found: {at}"
        reply = yield write_stdin(12)
        assert reply.output == "write_stdin failed: PTY session not found: 12"

    play_one(yard, script())


def test_without_a_tty_nothing_can_be_typed(yard: Server) -> None:
    def script() -> Script:
        reply = yield exec_command("sleep 600", yield_time_ms=250)
        reply = yield write_stdin(reply.session_id, "x")
        assert reply.exit_code == 1
        assert reply.output == (
            "stdin is not available for this process. "
            "Start the command with `tty=true` in `exec_command` before using `write_stdin`."
        )

    play_one(yard, script())


def test_a_line_that_no_tty_takes_is_refused_in_words_and_the_program_lives(yard: Server) -> None:
    def script() -> Script:
        reply = yield exec_command("exec cat", tty=True, yield_time_ms=250)
        at = reply.session_id
        reply = yield write_stdin(at, "x" * 5_000 + "\n")
        assert "[ptyard: nothing was typed: " in reply.output
        assert reply.session_id == at
        reply = yield write_stdin(at, "short\n", yield_time_ms=1_000)
        assert reply.output == "short\r\nshort\r\n"

    play_one(yard, script())


def test_commands_run_in_the_workspace_without_the_secrets_of_the_host(
    yard: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-programs")

    def script() -> Script:
        reply = yield exec_command("mkdir sub; env; cat")
        assert reply.exit_code == 0
        assert "sk-not-for-programs" not in reply.output
        home = re.search(r"^HOME=(.*)$", reply.output, re.MULTILINE)
        reply = yield exec_command("pwd", workdir="sub")
        assert home is not None
        assert reply.output == f"{home[1]}/sub\n"
        reply = yield exec_command("stty size", tty=True)
        assert reply.output == "24 80\r\n"

    play_one(yard, script())


def test_twenty_agents_at_once(yard: Server) -> None:
    def script(mine: int) -> Script:
        reply = yield exec_command(
            f"stty -echo; echo ready; while read x; do echo $((x * {mine})); done", tty=True, yield_time_ms=250
        )
        at = reply.session_id
        told = reply.output
        while "ready" not in told:
            reply = yield write_stdin(at)
            told += reply.output
        for turn in range(1, 6):
            reply = yield write_stdin(at, f"{turn}\n", yield_time_ms=250)
            answer = reply.output
            while not answer:
                reply = yield write_stdin(at)
                answer = reply.output
            assert answer == f"{turn * mine}\r\n"
        reply = yield write_stdin(at, "\x04", yield_time_ms=30_000)
        assert (reply.exit_code, reply.output) == (0, "")

    async def all_of_them() -> None:
        config = SandboxRunConfig(client=yard.client())
        await asyncio.gather(*(play(script(mine), config) for mine in range(1, 21)))

    run(all_of_them())
    assert yard.cli("list") == []
