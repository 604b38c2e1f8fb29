# Runs one program on a terminal or on pipes of its own, for a carrier that stands behind this: what to run comes as a
# line of input, and what is to be said before the program runs is said as `greeting.rs` has it. The carrier defines
# `linger`, which is called behind the word that the program does not start, and how a `Carried` program is told of.
import base64, errno, fcntl, json, os, select, signal, struct, sys, termios, time

word = sys.argv[1]


def write(data):
    while data:
        data = data[os.write(1, data):]


def tell(what):
    write(("\x1b]7777;%s:%s\x07" % (word, what)).encode())


def refuse(what):
    tell(what)
    linger()
    sys.exit(127)


class Lines:
    held = b""

    def take(self, data):
        *whole, self.held = (self.held + data).split(b"\n")
        return whole


def order():
    lines = Lines()
    while True:
        data = os.read(0, 65536)
        if not data:
            sys.exit(1)
        for line in lines.take(data):
            try:
                return json.loads(base64.b64decode(line)), lines
            except ValueError:
                pass


def find(name, path):
    places = [name] if "/" in name else [(place or ".") + "/" + name for place in path.split(":")]
    there = [place for place in places if os.path.isfile(place)]
    for place in there:
        if os.access(place, os.X_OK):
            return place
    refuse("denied" if there else "missing")


def become(path, argv, env, streams, is_tty):
    os.setsid()
    if is_tty:
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        os.execve(path, argv, env)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execve("/bin/sh", [b"/bin/sh", path.encode()] + argv[1:], env)


def start(spec):
    is_tty = spec["io"] == "tty"
    env = dict(os.environb)
    env.pop(b"PTYARD_SHELL", None)
    env.update((name.encode(), value.encode()) for name, value in spec["env"].items())
    if spec["cwd"]:
        try:
            os.chdir(spec["cwd"])
        except OSError:
            refuse("cwd")
    path = find(spec["argv"][0], env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin").decode(errors="surrogateescape"))
    argv = [argument.encode() for argument in spec["argv"]]
    if is_tty:
        ours, theirs = os.openpty()
        modes = termios.tcgetattr(theirs)
        modes[0] |= 0x4000  # IUTF8: erasing takes whole characters.
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        resize(ours, spec["cols"], spec["rows"])
        source, sink, streams = ours, os.dup(ours), [theirs] * 3
    else:
        source, out = os.pipe()
        if spec["io"] == "pipe":
            inner, sink = os.pipe()
        else:
            inner, sink = os.open("/dev/null", os.O_RDONLY), -1
        streams = [inner, out, out]
    failed, fails = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            become(path, argv, env, streams, is_tty)
        except BaseException as error:
            os.write(fails, str(error).encode() or b"?")
        os._exit(127)
    for end in set(streams) | {fails}:
        os.close(end)
    if os.read(failed, 4096):
        refuse("denied")
    os.close(failed)
    os.set_blocking(source, False)
    if sink >= 0:
        os.set_blocking(sink, False)
    return pid, source, sink, is_tty


def resize(tty, cols, rows):
    fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(cols), 0, 0))


def leave_nothing(mark, session):
    """Ends all that was born with the mark, and all of the session, if there is one."""
    for _ in range(20):
        found = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    is_ours = mark in file.read().split(b"\0")
                with open("/proc/%s/stat" % pid, "rb") as file:
                    state, _, _, its = file.read().rpartition(b")")[2].split()[:4]
                if (is_ours or int(its) == session) and state not in b"ZX":
                    os.kill(int(pid), signal.SIGKILL)
                    found += 1
            except (OSError, ValueError):
                pass
        if not found:
            return
        time.sleep(0.05)


def alarm():
    """Where it can be read that a child ended."""
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    return woken


class Carried:
    """A program that runs: its output, its input, and how it ended. A carrier tells what became of them: `printed` and
    `closed` of output, `stands` of input, `ended` of the program."""

    def __init__(self, pid, source, sink, is_tty):
        self.pid, self.source, self.sink, self.is_tty = pid, source, sink, is_tty
        self.held, self.base = bytearray(), 0  # Output from this offset on.
        self.typed, self.taken, self.close_at = b"", 0, None  # Input that the program has yet to take, and how much it took.
        self.exit = None  # How the program ended, and behind how much output.

    def end(self):
        return self.base + len(self.held)

    def read(self, most):
        """Reads once; whether there may be more at once."""
        try:
            data = os.read(self.source, most)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            os.close(self.source)
            self.source = -1
            self.closed()
            return False
        start = self.end()
        self.held += data
        self.printed(start)
        return True

    def reap(self):
        if self.exit:
            return
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return
        # What it printed comes first; what others print meanwhile cannot hold this up for long.
        for _ in range(64):
            if self.source < 0 or not self.read(65536):
                break
        self.ended((b"c %d" % os.WEXITSTATUS(status)) if os.WIFEXITED(status) else (b"k %d" % os.WTERMSIG(status)))

    def write(self):
        if self.sink < 0:
            return
        try:
            count = os.write(self.sink, self.typed) if self.typed else 0
        except BlockingIOError:
            return
        except OSError:
            count = len(self.typed)  # Nobody reads it any more.
        self.typed = self.typed[count:]
        self.taken += count
        if self.close_at == self.taken:
            os.close(self.sink)
            self.sink = -1
            self.close_at = None
        if count:
            self.stands()

    def leave_nothing(self, mark):
        # The number of a session that is gone may be another's.
        leave_nothing(mark, None if self.exit else self.pid)
