"""Drives the `unix_local` sandbox of the openai-agents package: one JSON request a line, one JSON answer a line.

Times are taken here, around the calls, so that the pipes to this process cost nothing.
"""

import asyncio
import json
import shlex
import sys
import time

from agents.sandbox.sandboxes.unix_local import UnixLocalSandboxClient


def resident_kib():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])


async def drain(session, corpus):
    """Seconds from the start until the exit is told, with windows of 50 tokens."""
    started = time.perf_counter()
    update = await session.pty_exec_start(
        f"cat {shlex.quote(corpus)}", tty=True, yield_time_s=0.25, max_output_tokens=50
    )
    while update.process_id is not None:
        update = await session.pty_write_stdin(
            session_id=update.process_id, chars="", yield_time_s=30, max_output_tokens=50
        )
    return {"seconds": time.perf_counter() - started, "code": update.exit_code}


async def repl(session, program, questions):
    """Milliseconds of each question to a REPL."""
    update = await session.pty_exec_start(program, tty=True, yield_time_s=1, max_output_tokens=50)
    times, wrong = [], 0
    for number in range(questions):
        started = time.perf_counter()
        answer = await session.pty_write_stdin(
            session_id=update.process_id, chars=f"1000+{number}\n", max_output_tokens=50
        )
        times.append((time.perf_counter() - started) * 1000)
        wrong += str(1000 + number).encode() not in answer.output.split(b"\n", 1)[-1]
    await session.pty_terminate_all()
    return {"ms": times, "wrong": wrong}


async def first_window(session, tty):
    """The first 250 ms of a flood, in 50 tokens."""
    started = time.perf_counter()
    update = await session.pty_exec_start("yes", tty=tty, yield_time_s=0.25, max_output_tokens=50)
    took = (time.perf_counter() - started) * 1000
    await session.pty_terminate_all()
    return {"ms": took, "bytes": len(update.output)}


async def unpolled(session, tty, seconds):
    """How many KiB this process grows while nobody polls a flood."""
    before = resident_kib()
    await session.pty_exec_start("yes", tty=tty, yield_time_s=0.25, max_output_tokens=50)
    await asyncio.sleep(seconds)
    after = resident_kib()
    await session.pty_terminate_all()
    return {"kib": after - before}


CALLS = {"drain": drain, "repl": repl, "first_window": first_window, "unpolled": unpolled}


async def main():
    client = UnixLocalSandboxClient()
    sandbox = await client.create()
    async with sandbox as session:
        print(json.dumps({"ready": True}), flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            call, *arguments = json.loads(line)
            print(json.dumps(await CALLS[call](session, *arguments)), flush=True)
    await client.delete(sandbox)


asyncio.run(main())
