"""The vendor's own client against the test server: what it takes from the real vendor it has to take from this one."""

import threading

from daytona import CreateSandboxFromSnapshotParams, Daytona, DaytonaConflictError, DaytonaNotFoundError
from daytona.common.pty import PtySize

client = Daytona()
sandbox = client.create(CreateSandboxFromSnapshotParams(snapshot="s"), timeout=20)

ran = sandbox.process.exec("echo out; echo err >&2; exit 3")
assert (ran.exit_code, ran.result) == (3, "out\nerr\n"), ran
ran = sandbox.process.exec('printf %s%s "$A" "$B"; pwd', env={"A": "1", "B": "é "}, cwd="/tmp", timeout=5)
assert (ran.exit_code, ran.result) == (0, "1é /tmp\n"), ran

shown = bytearray()
seen = threading.Event()


def show(data):
    shown.extend(data)
    if b"40 120" in shown:
        seen.set()


handle = sandbox.process.create_pty_session("one", cwd="/tmp", envs={"A": "x y"}, pty_size=PtySize(cols=80, rows=24))
try:
    sandbox.process.create_pty_session("one")
    raise SystemExit("an id is used once")
except DaytonaConflictError:
    pass
reader = threading.Thread(target=lambda: handle.wait(on_data=show), daemon=True)
reader.start()
info = handle.resize(PtySize(cols=120, rows=40))
assert (info.cols, info.rows, info.active) == (120, 40, True), info
handle.send_input('echo "<$A|$PWD>"; stty size\n')
assert seen.wait(20), bytes(shown)
assert b"<x y|/tmp>" in shown, bytes(shown)
assert [pty.id for pty in sandbox.process.list_pty_sessions()] == ["one"]

again = sandbox.process.connect_pty_session("one")
again.send_input("exit 7\n")
assert again.wait(timeout=20).exit_code == 7
reader.join(20)
assert not reader.is_alive() and handle.exit_code == 7, handle.exit_code

killed = sandbox.process.create_pty_session("two")
killed.kill()
result = killed.wait(timeout=20)
assert result.exit_code == 137, result
try:
    sandbox.process.get_pty_session_info("two")
    raise SystemExit("it is gone")
except DaytonaNotFoundError:
    pass

same = client.get(sandbox.id)
assert same.process.exec("echo there").result == "there\n"
same.refresh_activity()
client.delete(sandbox)
print("the vendor's client is content")
