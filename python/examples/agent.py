"""An agent with a shell whose commands run in ptyard. Needs a model: set OPENAI_API_KEY."""

from __future__ import annotations

import asyncio

from agents import RunConfig, Runner
from agents.sandbox import SandboxAgent, SandboxRunConfig
from agents.sandbox.capabilities import Shell

from ptyard_agents import PtyardSandboxClient, PtyardSandboxClientOptions


async def main() -> None:
    agent = SandboxAgent(name="assistant", instructions="Use the shell.", capabilities=[Shell()])
    # A REPL's answer is returned when its prompt is back, not when the time is up.
    options = PtyardSandboxClientOptions(until=("prompt",))
    sandbox = SandboxRunConfig(client=PtyardSandboxClient(), options=options)
    result = await Runner.run(
        agent,
        "Start python3 on a tty, compute 2**100 in it, and tell me the result.",
        run_config=RunConfig(sandbox=sandbox),
    )
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
