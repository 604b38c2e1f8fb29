"""Connections that break when the server has done what it was asked, and before it has."""

from __future__ import annotations

import random
from collections.abc import Iterator

import httpx
import pytest
from agents.sandbox.session.pty_types import truncate_text_by_tokens
from stage import Server, run, session

from ptyard_agents import PtyardSandboxClientOptions, _capped
from ptyard_agents._transport import UnixTransport
from ptyard_agents._wire import Window

EAGER = PtyardSandboxClientOptions(until=("regex:.",))


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every call that changes something breaks off once before it is sent, and once when it was answered."""
    breaks: list[str] = []
    turn = 0
    honest = UnixTransport.handle_async_request

    async def flaky(self: UnixTransport, request: httpx.Request) -> httpx.Response:
        nonlocal turn
        if request.method == "GET":
            return await honest(self, request)
        turn += 1
        if turn % 3 == 1:
            breaks.append(f"before {request.url.path}")
            raise httpx.ConnectError("broken off before it was sent", request=request)
        response = await honest(self, request)
        if turn % 3 == 2:
            breaks.append(f"after {request.url.path}")
            await response.aread()
            await response.aclose()
            raise httpx.ReadError("broken off when it was answered", request=request)
        return response

    monkeypatch.setattr(UnixTransport, "handle_async_request", flaky)
    yield breaks
    monkeypatch.undo()


def test_what_is_asked_again_happens_once_and_nothing_is_lost(yard: Server, broken: list[str]) -> None:
    async def work() -> None:
        async with session(yard, EAGER) as made:
            update = await made.pty_exec_start("stty -echo; echo ready; exec cat", tty=True, yield_time_s=5)
            at = update.process_id
            assert at is not None
            assert len(yard.running()) == 1
            told = update.output
            for number in range(6):
                told += (await made.pty_write_stdin(session_id=at, chars=f"{number}\n", yield_time_s=0.25)).output
            while told.count(b"\n") < 7:
                told += (await made.pty_write_stdin(session_id=at, chars="")).output
            assert told == b"ready\r\n" + b"".join(b"%d\r\n" % number for number in range(6))
            result = await made.exec("echo once; echo errors >&2")
            assert (result.stdout, result.stderr) == (b"once\n", b"errors\n")

    run(work())
    assert yard.cli("list") == []
    assert any(each == "after /v1/terminals" for each in broken)
    assert sum(each.endswith("/write") for each in broken) > 10


def test_caps_that_the_server_does_not_know_give_what_the_sdk_gives() -> None:
    chance = random.Random(7)
    for _ in range(2_000):
        text = "".join(chance.choice("aé☃𝄞\n") for _ in range(chance.randrange(12)))
        cap = chance.choice([None, -3, 0, 1, 2, 5, 4_000_000, 10**9])
        # What the server answers is what the SDK's function says of the cap it was asked for.
        output, tokens = truncate_text_by_tokens(text, _capped.asked_for(cap))
        window = Window("t", 1000, output, None, tokens, 0, len(text.encode()), 0, 0, [])
        assert _capped.of_window(window, cap) == truncate_text_by_tokens(text, cap)
