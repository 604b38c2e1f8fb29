"""The truncation vectors, through the text that the SDK's own tool gives to a model."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents.sandbox import SandboxRunConfig
from agents.sandbox.session import SandboxSession
from stage import Reply, Script, Server, exec_command, play, run, session

from ptyard_agents._yard import Yard

DATA = Path(__file__).resolve().parents[2] / "crates/core/tests/data/truncation-golden.json"


@dataclass(frozen=True)
class Vector:
    name: str
    input: bytes
    cap: int | None
    output: str
    tokens: int | None

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Vector:
        if "input_hex" in raw:
            data = bytes.fromhex(raw["input_hex"])
        elif raw["name"] == "huge_1MiB_ascii_cap_10000":
            data = b"A" * (1 << 20)
        else:
            data = b"".join(b"%06d line\n" % number for number in range(100_000))
        assert hashlib.sha256(data).hexdigest() == raw["input_sha256"], raw["name"]
        output = bytes.fromhex(raw["output_hex"]).decode()
        return cls(raw["name"], data, raw["max_tokens"], output, raw["original_token_count"])

    @property
    def file(self) -> str:
        return f"{self.name}.txt"


def vectors() -> list[Vector]:
    raw = json.loads(DATA.read_text())
    found = [Vector.of(each) for each in raw["vectors"]]
    assert len(found) == raw["count"] == 39
    return found


async def write_inputs(made: SandboxSession) -> None:
    for vector in vectors():
        await made.write(Path(vector.file), io.BytesIO(vector.input))


def test_every_vector_is_the_text_of_the_tool(yard: Server) -> None:
    through_the_tool: list[str] = []

    def script() -> Script:
        for vector in vectors():
            if vector.cap is not None and vector.cap < 1:
                continue  # The tool's schema has no such cap; the next test has.
            cap = {} if vector.cap is None else {"max_output_tokens": vector.cap}
            reply = yield exec_command(f"cat {vector.file}", yield_time_ms=30_000, **cap)
            assert reply == Reply(0, None, vector.tokens, vector.output), vector.name
            through_the_tool.append(vector.name)

    async def all_of_them() -> None:
        async with session(yard) as made:
            await write_inputs(made)
            await play(script(), SandboxRunConfig(session=made))

    run(all_of_them())
    assert len(through_the_tool) == 35


async def check(made: SandboxSession) -> None:
    for vector in vectors():
        update = await made.pty_exec_start("cat", vector.file, yield_time_s=30, max_output_tokens=vector.cap)
        assert update.output.decode() == vector.output, vector.name
        assert update.original_token_count == vector.tokens, vector.name
        assert (update.exit_code, update.process_id) == (0, None), vector.name


def test_every_vector_with_caps_that_only_the_session_takes(yard: Server) -> None:
    async def all_of_them() -> None:
        async with session(yard) as made:
            await write_inputs(made)
            await check(made)

    run(all_of_them())


def test_law_03_every_vector_when_its_window_was_handed_to_a_caller_that_was_gone(
    yard: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has moved its cursor; the window is made from the log, byte for byte the same."""
    lost = 0
    honest = Yard.write

    async def lossy(self: Yard, at: str, **asked: Any) -> Any:
        nonlocal lost
        window = await honest(self, at, **asked)
        lost += bool(window.output)
        return await honest(self, at, **asked)

    async def all_of_them() -> None:
        async with session(yard) as made:
            await write_inputs(made)
            monkeypatch.setattr(Yard, "write", lossy)
            await check(made)
            monkeypatch.undo()
            await asyncio.sleep(0)

    run(all_of_them())
    assert lost >= 30
