"""A plain client against the test server: what the bridge's wire is known to do, this one has to do."""

import asyncio
import base64
import json
import os
import re

import aiohttp

BASE = os.environ["CLOUDFLARE_SANDBOX_WORKER_URL"]
KEY = os.environ["CLOUDFLARE_SANDBOX_API_KEY"]


async def run(client, sandbox, *argv, session=None, **order):
    """Runs something: its streams, and the last event."""
    out = {"stdout": b"", "stderr": b""}
    headers = {"Session-Id": session} if session else {}
    order = {"argv": list(argv), **order}
    async with client.post(f"/v1/sandbox/{sandbox}/exec", json=order, headers=headers) as answer:
        assert answer.status == 200 and answer.content_type == "text/event-stream", answer
        async for line in answer.content:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = line.removeprefix("data: ")
                if name in out:
                    out[name] += base64.b64decode(data)
                else:
                    return out["stdout"], out["stderr"], name, json.loads(data)
    raise SystemExit("a run without an end")


async def until(socket, what, seen=b""):
    """Reads a terminal until this was printed."""
    while what not in seen:
        message = await socket.receive(20)
        if message.type == aiohttp.WSMsgType.BINARY:
            seen += message.data
        else:
            assert message.type == aiohttp.WSMsgType.TEXT, (message, seen)
    return seen


async def ready(socket):
    """Waits until a terminal is ready: what it played before."""
    replay = b""
    while True:
        message = await socket.receive(20)
        if message.type == aiohttp.WSMsgType.BINARY:
            replay += message.data
            continue
        status = json.loads(message.data)
        assert status == {"type": "ready"}, status
        return replay


async def main():
    async with aiohttp.ClientSession(BASE, headers={"Authorization": f"Bearer {KEY}"}) as client:
        async with client.get("/health") as answer:
            assert await answer.json() == {"ok": True}
        async with client.post("/v1/sandbox", headers={"Authorization": "Bearer wrong"}) as answer:
            assert (answer.status, (await answer.json())["code"]) == (401, "unauthorized")
        async with client.post("/v1/sandbox") as answer:
            sandbox = (await answer.json())["id"]
        assert re.fullmatch("[a-z2-7]{26}", sandbox), sandbox
        async with client.post("/v1/sandbox/NO/exec", json={"argv": ["true"]}) as answer:
            assert (answer.status, (await answer.json())["code"]) == (400, "invalid_request")

        out, err, name, end = await run(client, sandbox, "sh", "-lc", "echo hi; echo err >&2; exit 3", timeout_ms=30000)
        assert (out, err, name, end) == (b"hi\n", b"err\n", "exit", {"exit_code": 3}), (out, err, name, end)
        async with client.post(f"/v1/sandbox/{sandbox}/exec", json={"argv": ["true"], "cwd": "/etc"}) as answer:
            assert answer.status == 403

        order = {"id": "mine", "cwd": "/tmp", "env": {"A": "é 1"}}
        async with client.post(f"/v1/sandbox/{sandbox}/session", json=order) as answer:
            assert (answer.status, await answer.json()) == (200, {"id": "mine"})
        async with client.post(f"/v1/sandbox/{sandbox}/session", json=order) as answer:
            assert (answer.status, (await answer.json())["code"]) == (502, "session_error")
        out, *_ = await run(client, sandbox, "sh", "-c", 'printf "%s|" "$A"; pwd', session="mine")
        assert out.decode() == "é 1|/tmp\n", out

        async with client.get(f"/v1/sandbox/{sandbox}/pty") as answer:
            assert (answer.status, (await answer.json())["code"]) == (400, "invalid_request")
        pty = f"/v1/sandbox/{sandbox}/pty?cols=90&rows=30&session=mine"
        async with client.ws_connect(pty) as one:
            await ready(one)
            await one.send_bytes(b"stty size; echo $A $TERM in $PWD\n")
            seen = await until(one, b"xterm-256color in /tmp\r\n")
            assert b"30 90\r\n" in seen and "é 1".encode() in seen, seen
            await one.send_str('{"type":"resize","cols":120,"rows":40}')
            await one.send_bytes(b"stty size\n")
            await until(one, b"40 120\r\n")
            await one.send_str('{"type":"resize","cols":0,"rows":40}')
            while (message := await one.receive(20)).type != aiohttp.WSMsgType.TEXT:
                pass
            assert json.loads(message.data)["type"] == "error", message
            # The same terminal for whoever comes, with what it printed.
            async with client.ws_connect(pty) as other:
                assert b"40 120\r\n" in await ready(other)
                await other.send_bytes(b"echo for-bo''th; sleep 600 & exit 7\n")
                await until(other, b"for-both\r\n")
                await until(one, b"for-both\r\n")
                # And nobody says how its shell ended.
                try:
                    while True:
                        message = await one.receive(0.5)
                        assert message.type == aiohttp.WSMsgType.BINARY, message
                except asyncio.TimeoutError:
                    pass
        async with client.delete(f"/v1/sandbox/{sandbox}/session/mine") as answer:
            assert answer.status == 204
        async with client.delete(f"/v1/sandbox/{sandbox}") as answer:
            assert answer.status == 204
        async with client.delete(f"/v1/sandbox/{sandbox}") as answer:
            assert answer.status == 204


asyncio.run(main())
print("a plain client is content")
