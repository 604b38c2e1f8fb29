"""What the tests share: a server, a model that follows a script, and what its tools answered."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agents import Model, ModelResponse, RunConfig, Runner, Usage
from agents.items import TResponseInputItem, TResponseStreamEvent
from agents.sandbox import SandboxAgent, SandboxRunConfig
from agents.sandbox.capabilities import Shell
from agents.sandbox.session import SandboxSession
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from ptyard_agents import PtyardSandboxClient, PtyardSandboxClientOptions

T = TypeVar("T")

PYTHON = "exec /usr/bin/python3" if os.path.exists("/usr/bin/python3") else "exec python3"
"""An interpreter that is the program itself, not a child of a shell."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs to the end, and fails on what asyncio only logs: tasks that are left, exceptions nobody saw."""
    complaints: list[str] = []

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(str(context)))
        value = await work
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, f"tasks are left: {left}"
        return value

    value = asyncio.run(watched())
    assert not complaints, complaints
    return value


@dataclass(frozen=True)
class Server:
    """A state directory of its own, and the program that serves it."""

    state: Path
    program: str

    def client(self) -> PtyardSandboxClient:
        return PtyardSandboxClient(state_dir=self.state, program=self.program)

    def cli(self, *args: str) -> Any:
        command = [self.program, "--state", str(self.state), "--json", *args]
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
        return json.loads(done.stdout or "null")

    def running(self) -> list[dict[str, Any]]:
        return [each for each in self.cli("list") if each["state"] == "running"]

    def pid(self) -> int:
        return int(self.cli("version")["server"]["pid"])

    def stop(self) -> None:
        subprocess.run([self.program, "--state", str(self.state), "stop"], check=False, timeout=60)


@contextmanager
def server(state: Path) -> Iterator[Server]:
    place = Server(state, os.environ.get("PTYARD_BIN") or "ptyard")
    try:
        yield place
    finally:
        place.stop()


@asynccontextmanager
async def session(place: Server, options: PtyardSandboxClientOptions | None = None) -> AsyncIterator[SandboxSession]:
    """A started session, which is closed and deleted afterwards."""
    client = place.client()
    made = await client.create(options=options)
    try:
        async with made:
            yield made
    finally:
        await client.delete(made)


@dataclass(frozen=True)
class Call:
    """A call of a tool by the model."""

    tool: str
    args: dict[str, Any]


def exec_command(cmd: str, **args: Any) -> Call:
    return Call("exec_command", {"cmd": cmd, **args})


def write_stdin(session_id: int | None, chars: str = "", **args: Any) -> Call:
    return Call("write_stdin", {"session_id": session_id, "chars": chars, **args})


@dataclass(frozen=True)
class Reply:
    """The text of a tool, taken apart. Text of another form is an error."""

    exit_code: int | None
    session_id: int | None
    tokens: int | None
    output: str

    _FORM = re.compile(
        r"Chunk ID: [0-9a-f]{6}\n"
        r"Wall time: \d+\.\d{4} seconds\n"
        r"(?:Process exited with code (?P<exit>-?\d+)\n)?"
        r"(?:Process running with session ID (?P<session>\d+)\n)?"
        r"(?:Original token count: (?P<tokens>\d+)\n)?"
        r"Output:\n(?P<output>.*)\Z",
        re.DOTALL,
    )

    @classmethod
    def of(cls, text: str) -> Reply:
        found = cls._FORM.match(text)
        assert found is not None, f"not the text of a shell tool: {text!r}"

        def number(name: str) -> int | None:
            value = found.group(name) if found is not None else None
            return None if value is None else int(value)

        return cls(number("exit"), number("session"), number("tokens"), found.group("output"))


Script = Generator[Call, Reply, None]
"""Yields what the model calls and is given what the tools answered."""


class ScriptedModel(Model):
    """A model that does what a script says. It talks to nobody."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._calls = 0

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        try:
            call = self._script.send(Reply.of(_last_output(input))) if self._calls else next(self._script)
        except StopIteration:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            message = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)
        self._calls += 1
        asked = ResponseFunctionToolCall(
            type="function_call", call_id=f"c{self._calls}", name=call.tool, arguments=json.dumps(call.args)
        )
        return ModelResponse(output=[asked], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError("the tests do not stream")


def _last_output(input: str | list[TResponseInputItem]) -> str:
    assert not isinstance(input, str)
    last = input[-1]
    assert last.get("type") == "function_call_output", last
    output = last.get("output")
    assert isinstance(output, str)
    return output


async def play(script: Script, sandbox: SandboxRunConfig) -> None:
    """Lets an agent of the SDK run a script with the SDK's own shell tools."""
    agent = SandboxAgent(name="scripted", model=ScriptedModel(script), capabilities=[Shell()])
    config = RunConfig(sandbox=sandbox, tracing_disabled=True)
    result = await Runner.run(agent, "go", run_config=config, max_turns=500)
    assert result.final_output == "done"
