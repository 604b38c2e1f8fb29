"""The vendor's own client against the test server: what it takes from the real vendor it has to take from this one."""

import threading

from e2b import CommandExitException, Sandbox
from e2b.sandbox.commands.command_handle import PtySize

sandbox = Sandbox.create("base", envs={"A": "1"}, timeout=60)
assert sandbox.is_running()

out, err = [], []
try:
    sandbox.commands.run("echo out; echo err >&2; exit 3", on_stdout=out.append, on_stderr=err.append)
    raise SystemExit("a code of 3 is an error")
except CommandExitException as error:
    assert (error.exit_code, error.stdout, error.stderr) == (3, "out\n", "err\n"), error
assert sandbox.commands.run("printf %s%s \"$A\" \"$B\"; pwd", envs={"B": "é "}, cwd="/tmp").stdout == "1é /tmp\n"

handle = sandbox.commands.run("head -n 1; echo done", background=True, stdin=True)
assert handle.pid in [process.pid for process in sandbox.commands.list()]
sandbox.commands.send_stdin(handle.pid, "typed\n")
assert handle.wait().stdout == "typed\ndone\n"

handle = sandbox.commands.run("sleep 600", background=True)
assert sandbox.commands.kill(handle.pid)
try:
    handle.wait()
    raise SystemExit("a kill is an error")
except CommandExitException as error:
    assert error.exit_code != 0, error
assert not sandbox.commands.kill(handle.pid)

shown = bytearray()
seen = threading.Event()


def show(data):
    shown.extend(data)
    if b"40 120" in shown:
        seen.set()


terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
reader = threading.Thread(target=lambda: terminal.wait(on_pty=show), daemon=True)
reader.start()
sandbox.pty.resize(terminal.pid, PtySize(rows=40, cols=120))
sandbox.pty.send_stdin(terminal.pid, b"stty size\n")
assert seen.wait(20), bytes(shown)
again = sandbox.pty.connect(terminal.pid)
sandbox.pty.send_stdin(terminal.pid, b"exit 0\n")
assert again.wait().exit_code == 0
reader.join(20)
assert not reader.is_alive()

same = Sandbox.connect(sandbox.sandbox_id)
assert same.commands.run("echo there").stdout == "there\n"
assert sandbox.kill()
print("the vendor's client is content")
