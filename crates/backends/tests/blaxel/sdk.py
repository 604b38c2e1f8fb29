"""The vendor's own client against the test server: what it takes from the real vendor it has to take from this one.

The client knows no terminals; those are spoken to as the vendor's own page does, with the address and the key that the
client would use."""

import asyncio
import json
import os
from urllib.parse import urlencode

from blaxel.core import SandboxInstance
from blaxel.core.client.client import client
from blaxel.core.common.settings import settings
from blaxel.core.sandbox.types import ResponseError
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

# The client has no variable for another address.
client.with_base_url(os.environ["BL_API_URL"])


class Terminal:
    def __init__(self, socket):
        self.socket, self.shown = socket, ""

    async def say(self, **message):
        await self.socket.send(json.dumps(message))

    async def until(self, text):
        while text not in self.shown:
            message = json.loads(await asyncio.wait_for(self.socket.recv(), 20))
            assert message["type"] == "output", message
            self.shown += message["data"]


async def main():
    order = {"name": "one", "image": "blaxel/base-image:latest", "memory": 4096, "envs": [{"name": "A", "value": "1"}]}
    sandbox = await SandboxInstance.create(order)
    assert (sandbox.metadata.name, sandbox.status) == ("one", "DEPLOYED"), sandbox
    same = await SandboxInstance.create_if_not_exists(order)
    assert same.metadata.url == sandbox.metadata.url
    assert (await SandboxInstance.get("one")).metadata.name == "one"
    assert [known.metadata.name for known in (await SandboxInstance.list()).data] == ["one"]

    ran = await sandbox.process.exec({"command": "echo out; echo err >&2; exit 3", "wait_for_completion": True})
    assert (ran.status, ran.exit_code, ran.stdout, ran.stderr) == ("failed", 3, "out\n", "err\n"), ran
    command = {"command": 'printf "%s$B" "$A"; pwd', "env": {"B": "é "}, "working_dir": "/tmp", "timeout": 5}
    ran = await sandbox.process.exec({**command, "wait_for_completion": True})
    assert (ran.status, ran.exit_code, ran.stdout) == ("completed", 0, "1é /tmp\n"), ran

    await sandbox.process.exec({"name": "cat", "command": "cat", "stdin": True})
    await sandbox.process.write_stdin("cat", "typed\n")
    await sandbox.process.close_stdin("cat")
    ran = await sandbox.process.wait("cat", interval=50)
    assert (ran.status, ran.exit_code, ran.stdout) == ("completed", 0, "typed\n"), ran
    assert await sandbox.process.logs("cat") == "typed\n"
    await sandbox.process.exec({"name": "long", "command": "sleep 600"})
    assert (await sandbox.process.get("long")).status == "running"
    await sandbox.process.kill("long")
    assert (await sandbox.process.wait("long", interval=50)).status == "killed"
    try:
        await sandbox.process.get("none")
        raise SystemExit("there is none")
    except ResponseError:
        pass

    query = {"token": settings.auth.token, "cols": 80, "rows": 24, "sessionId": "two", "workingDir": "/tmp"}
    address = sandbox.metadata.url.replace("http", "ws", 1) + "/terminal/ws?" + urlencode(query)
    async with connect(address) as socket:
        terminal = Terminal(socket)
        await terminal.say(type="resize", cols=120, rows=40)
        await terminal.say(type="input", data='echo "<$A|$PWD>"; stty size\n')
        await terminal.until("<1|/tmp>")
        await terminal.until("40 120")
    # The shell stays, and what it printed is played again.
    async with connect(address) as socket:
        terminal = Terminal(socket)
        await terminal.until("<1|/tmp>")
        assert terminal.shown.startswith("\x1b[0m"), terminal.shown
        await terminal.say(type="input", data="exit 7\n")
        try:
            while True:
                await asyncio.wait_for(socket.recv(), 20)
        except ConnectionClosed:
            pass

    await SandboxInstance.delete("one")
    print("the vendor's client is content")


asyncio.run(main())
