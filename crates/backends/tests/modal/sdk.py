"""The vendor's own client against the test server: what it takes from the real vendor it has to take from this one."""

import modal

app = modal.App.lookup("ptyard-test", create_if_missing=True)
image = modal.Image.from_registry("debian:12", add_python=None)
sandbox = modal.Sandbox.create("sleep", "infinity", app=app, image=image, timeout=300, name="by-name")
assert sandbox.poll() is None

process = sandbox.exec("sh", "-c", "echo out; echo err >&2; exit 3", text=False)
assert process.wait() == 3
assert (process.stdout.read(), process.stderr.read()) == (b"out\n", b"err\n")

process = sandbox.exec("sh", "-c", 'printf %s%s "$B"; pwd', env={"B": "é "}, workdir="/tmp")
assert process.stdout.read() == "é /tmp\n", "variables and directory"
assert process.wait() == 0

process = sandbox.exec("sh", "-c", 'IFS= read -r line; echo "$line"; echo done; cat')
process.stdin.write("typed\n")
process.stdin.drain()
process.stdin.write("rest")
process.stdin.write_eof()
process.stdin.drain()
assert process.stdout.read() == "typed\ndone\nrest"
assert process.wait() == 0

process = sandbox.exec("sh", "-c", "kill -KILL $$")
assert process.wait() == 137, "a signal"

process = sandbox.exec("sh", "-c", "test -t 0 && test -t 1 && cat", pty=True, text=False)
process.stdin.write(b"line\n\x04")
process.stdin.drain()
shown = process.stdout.read()
assert shown.count(b"line\r\n") == 2, shown
assert process.poll() == 0 or process.wait() == 0

flood = sandbox.exec("sh", "-c", "seq 1 100000")
assert len(flood.stdout.read().splitlines()) == 100000

same = modal.Sandbox.from_name("ptyard-test", "by-name")
assert same.object_id == sandbox.object_id
assert modal.Sandbox.from_id(sandbox.object_id).exec("echo", "there").stdout.read() == "there\n"

living = sandbox.exec("sleep", "600")
assert living.poll() is None
sandbox.terminate()
assert sandbox.poll() is not None
print("the vendor's client is content")
