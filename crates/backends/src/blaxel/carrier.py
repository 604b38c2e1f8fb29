# Runs one program, and carries its bytes over a terminal that passes on nothing but text, and of that not everything.
# Both ways go lines of ASCII. Output has its offset and is kept until it is known to have arrived; input has its offset
# and is taken once. How a line is written, and what it means, stands in `lines.rs`.
import base64, errno, fcntl, json, os, select, signal, struct, sys, termios, time, tty, zlib

HELD = 96 << 10  # Output that was not acknowledged: the program waits beyond that.
KEPT = 256 << 10  # Output that is kept behind that: who comes later may have less of it than who was there before.
PIECE = 3000  # Of it in one line, which the terminal's own pieces of 4,096 bytes hold.

word = sys.argv[1]


def write(data):
    while data:
        data = data[os.write(1, data):]


def tell(what):
    write(("\x1b]7777;%s:%s\x07" % (word, what)).encode())


def refuse(what):
    tell(what)
    # What the terminal printed is forgotten when its shell ends, so it is to be heard first.
    os.read(0, 65536)
    sys.exit(127)


def say(line):
    write(b"~%08x %s\n" % (zlib.adler32(line), line))


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


def leave_nothing(mark):
    for _ in range(20):
        found = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    if mark in file.read().split(b"\0"):
                        os.kill(int(pid), signal.SIGKILL)
                        found += 1
            except OSError:
                pass
        if not found:
            return
        time.sleep(0.05)


class Carrier:
    def __init__(self, pid, source, sink, is_tty, lines):
        self.pid, self.source, self.sink, self.is_tty, self.lines = pid, source, sink, is_tty, lines
        self.held, self.base, self.acked = bytearray(), 0, 0  # Output from this offset on, and up to where it has arrived.
        self.typed, self.taken, self.close_at = b"", 0, None  # Input that the program has yet to take, and how much it took.
        self.asked = 0  # The number of the last question.
        self.exit = self.closed = None  # The lines that tell so, with the offset behind which they stand.

    def end(self):
        return self.base + len(self.held)

    def print(self, start):
        for at in range(start, self.end(), PIECE):
            piece = self.held[at - self.base:at - self.base + PIECE]
            say(b"o %d %s" % (at, base64.b64encode(piece)))

    def status(self):
        say(b"s %d %d %d %d" % (self.end(), self.taken, self.taken + len(self.typed), self.asked))

    def again(self, start):
        self.print(max(start, self.base))
        for line in (self.exit, self.closed):
            if line:
                say(line)

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
            self.closed = b"f %d" % self.end()
            say(self.closed)
            return False
        start = self.end()
        self.held += data
        self.print(start)
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
        ended = (b"c %d" % os.WEXITSTATUS(status)) if os.WIFEXITED(status) else (b"k %d" % os.WTERMSIG(status))
        # The end of the output may have been told by then, and stands behind this one when it is told again.
        self.exit = b"x %d %s" % (self.end(), ended)
        say(self.exit)
        if self.closed:
            say(self.closed)

    def write(self):
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
            self.status()

    def hear(self, line):
        words = line.split()
        if len(words) < 2 or words[0] != b":":
            return
        kind, rest = words[1], words[2:]
        if kind in b"ar":
            self.acked = max(self.acked, min(int(rest[0]), self.end()))
            if self.acked - self.base > KEPT + HELD:
                del self.held[:self.acked - KEPT - self.base]
                self.base = self.acked - KEPT
        if kind == b"r":
            self.again(int(rest[1]))
        elif kind == b"q":
            self.asked = int(rest[0])
            self.status()
        elif kind == b"i":
            at, data = int(rest[0]), base64.b64decode(rest[1])
            behind = self.taken + len(self.typed)
            if self.sink < 0:
                self.taken = max(self.taken, at + len(data))
                self.status()
            elif at <= behind < at + len(data):
                self.typed += data[behind - at:]
                self.write()
            else:
                self.status()
        elif kind == b"e":
            if self.sink >= 0 and not self.is_tty:
                self.close_at = int(rest[0])
                self.write()
            self.status()
        elif kind == b"w" and self.is_tty and self.source >= 0:
            resize(self.source, rest[0], rest[1])
        elif kind == b"z":
            sys.exit(0)

    def carry(self, woken, mark, alone):
        """Until it is told to leave, the terminal is gone, or nothing was heard for so many seconds: nobody comes back."""
        heard_at = time.monotonic()
        while True:
            readers = [0, woken]
            if self.source >= 0 and self.end() - self.acked < HELD:
                readers.append(self.source)
            writers = [self.sink] if self.typed and self.sink >= 0 else []
            ready, writable, _ = select.select(readers, writers, [], alone / 8)
            if time.monotonic() - heard_at > alone:
                return leave_nothing(mark)
            if woken in ready:
                os.read(woken, 4096)
                self.reap()
            if writable and self.sink >= 0:
                self.write()
            if self.source in ready and self.source >= 0:
                self.read(HELD + self.acked - self.end())
            if 0 in ready:
                try:
                    data = os.read(0, 65536)
                except OSError:
                    data = b""
                if not data:
                    return leave_nothing(mark)
                heard_at = time.monotonic()
                for line in self.lines.take(data):
                    try:
                        self.hear(line)
                    except (ValueError, IndexError, OSError):
                        pass  # What cannot be understood is asked for or said again.


tty.setraw(0, termios.TCSANOW)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
tell("ready:%d" % os.getpid())
spec, lines = order()
woken, wakes = os.pipe()
os.set_blocking(woken, False)
os.set_blocking(wakes, False)
signal.signal(signal.SIGCHLD, lambda *_: None)
signal.set_wakeup_fd(wakes)
pid, source, sink, is_tty = start(spec)
tell("pid:%d" % pid)
tell("go")
carrier = Carrier(pid, source, sink, is_tty, lines)
carrier.reap()
carrier.carry(woken, b"PTYARD_TERMINAL=" + spec["id"].encode(), spec["alone"])
