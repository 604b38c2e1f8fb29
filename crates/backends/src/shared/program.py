# Runs one program on a terminal or on pipes of its own, for a carrier that stands behind this: what to run comes as a
# line of input, and what is to be said before the program runs is said as `greeting.rs` has it. The carrier defines
# `linger`, which is called behind the word that the program does not start.
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


