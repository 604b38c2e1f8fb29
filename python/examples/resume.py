"""A terminal that outlives the process that started it. Needs no model.

$ python resume.py start > state.json      # starts a counter, and exits
$ python resume.py look < state.json       # another process reads on where the first stopped; as often as wanted
$ python resume.py delete < state.json     # ends it
"""

from __future__ import annotations

import asyncio
import json
import sys

from ptyard_agents import PtyardSandboxClient, PtyardSandboxClientOptions


async def start(client: PtyardSandboxClient) -> None:
    options = PtyardSandboxClientOptions(on_close="keep")
    async with await client.create(options=options) as session:
        update = await session.pty_exec_start(
            "i=0; while sleep 1; do i=$((i+1)); echo $i; done", tty=True, yield_time_s=1
        )
        state = client.serialize_session_state(session.state)
    json.dump({"terminal": update.process_id, "session": state}, sys.stdout, default=str)


async def take_up(client: PtyardSandboxClient, what: str) -> None:
    kept = json.load(sys.stdin)
    session = await client.resume(client.deserialize_session_state(kept["session"]))
    if what == "delete":
        await client.delete(session)
        return
    async with session:
        update = await session.pty_write_stdin(session_id=kept["terminal"], chars="", yield_time_s=5)
        print(update.output.decode(), end="")


if __name__ == "__main__":
    what = sys.argv[1]
    client = PtyardSandboxClient()
    asyncio.run(start(client) if what == "start" else take_up(client, what))
