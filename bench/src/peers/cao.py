"""Drives the `cli-agent-orchestrator` package with its provider `mock_cli` on tmux: one JSON request a line, one JSON
answer a line. Arguments: the directory of the agent's program, a scratch directory.

Everything is its own: home, tmux server, port. Times are of the monotonic clock, in nanoseconds, as the agent's are.
"""

import glob
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

AGENT, SCRATCH = sys.argv[1:3]
BIN = os.path.dirname(sys.executable)
STAMPS = os.path.join(SCRATCH, "stamps")
GATE = os.path.join(SCRATCH, "gate")


def clock():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


PORT = free_port()


def call(method, path, connection=None, **query):
    connection = connection or http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    where = path + ("?" + urllib.parse.urlencode(query) if query else "")
    connection.request(method, where)
    reply = connection.getresponse()
    body = reply.read()
    if reply.status >= 400:
        raise RuntimeError(f"{method} {path}: {reply.status} {body[:300]}")
    return json.loads(body)


def serve():
    os.makedirs(STAMPS, exist_ok=True)
    environment = dict(
        os.environ,
        HOME=SCRATCH,
        SHELL="/bin/sh",
        TERM="xterm-256color",
        CAO_HOME_DIR=os.path.join(SCRATCH, "cao"),
        TMUX_TMPDIR=SCRATCH,
        CAO_API_PORT=str(PORT),
        MOCK_STAMPS=STAMPS,
        MOCK_GATE=GATE,
        PATH=f"{AGENT}:{BIN}:{os.environ['PATH']}",
    )
    environment.pop("TMUX", None)
    # Its windows begin with a login shell, which sets the path anew.
    with open(os.path.join(SCRATCH, ".profile"), "w", encoding="utf-8") as profile:
        profile.write(f'PATH="{AGENT}:$PATH"\nexport PATH\n')
    log = open(os.path.join(SCRATCH, "server.log"), "wb")
    server = subprocess.Popen(
        [os.path.join(BIN, "cao-server"), "--port", str(PORT)], env=environment, stdout=log, stderr=log
    )
    for _ in range(600):
        try:
            call("GET", "/health")
            return server, environment
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.1)
    raise RuntimeError("cao-server did not come up")


def stamps():
    """When the first byte of each message came, by its text."""
    found = {}
    for path in glob.glob(os.path.join(STAMPS, "*")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                what, at, text = line.rstrip("\n").split("\t", 2)
                if what == "first":
                    found[text] = int(at)
    return found


def arrived(texts, seconds=120):
    until = time.monotonic() + seconds
    while True:
        found = stamps()
        if all(text in found for text in texts):
            return [found[text] for text in texts]
        if time.monotonic() > until:
            raise RuntimeError(f"not every message arrived: {len(set(texts) & set(found))} of {len(texts)}")
        time.sleep(0.005)


def ready(terminal):
    for _ in range(2400):
        if call("GET", f"/terminals/{terminal}")["status"] in ("idle", "completed"):
            return
        time.sleep(0.05)
    raise RuntimeError("the agent did not become ready")


def start(count):
    terminals = [call("POST", "/sessions", provider="mock_cli", agent_profile="developer", session_name="bench")]
    for _ in range(count - 1):
        path = f"/sessions/{terminals[0]['session_name']}/terminals"
        terminals.append(call("POST", path, provider="mock_cli", agent_profile="developer"))
    return [terminal["id"] for terminal in terminals]


def send(terminal, text):
    began = clock()
    call("POST", f"/terminals/{terminal}/inbox/messages", sender_id=terminal, message=text)
    return began, clock()


def idle(terminals, name, count):
    """One message after the other to an idle agent, and `/health` meanwhile."""
    delays, answers, health, over = [], [], [], threading.Event()

    def watch():
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
        while not over.is_set():
            began = clock()
            call("GET", "/health", connection)
            health.append((clock() - began) / 1e6)
            time.sleep(0.002)

    watching = threading.Thread(target=watch)
    watching.start()
    for number in range(count):
        ready(terminals[0])
        began, answered = send(terminals[0], f"{name} {number}")
        delays.append((arrived([f"{name} {number}"])[0] - began) / 1e6)
        answers.append((answered - began) / 1e6)
    over.set()
    watching.join()
    return {"ms": delays, "answer_ms": answers, "health_ms": health}


def together(terminals, name):
    """All are at work until the gate opens; then each is to get its next message."""
    for terminal in terminals:
        ready(terminal)
    open(GATE, "w").close()
    for number, terminal in enumerate(terminals):
        send(terminal, f"{name} work {number}")
    arrived([f"{name} work {number}" for number in range(len(terminals))])
    time.sleep(2)
    for number, terminal in enumerate(terminals):
        send(terminal, f"{name} next {number}")
    os.remove(GATE)
    opened = clock()
    came = arrived([f"{name} next {number}" for number in range(len(terminals))])
    return {"spread_ms": (max(came) - min(came)) / 1e6, "last_ms": (max(came) - opened) / 1e6}


def main():
    server, environment = serve()
    terminals = []
    try:
        print(json.dumps({"pid": server.pid}), flush=True)
        for line in sys.stdin:
            what, *arguments = json.loads(line)
            if what == "start":
                terminals = start(*arguments)
                answer = {"terminals": len(terminals)}
            elif what == "idle":
                answer = idle(terminals, *arguments)
            else:
                answer = together(terminals, *arguments)
            print(json.dumps(answer), flush=True)
    finally:
        server.terminate()
        server.wait()
        subprocess.run(["tmux", "kill-server"], env=environment, check=False, stderr=subprocess.DEVNULL)


main()
