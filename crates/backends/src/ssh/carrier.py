# Carries the bytes of a program whether somebody is connected or not. It is a process of its own session, and listens in a
# directory that only this user can enter; who connects passes on what comes over a channel (`relay`). Output is kept until
# it is known to have arrived, input has its offset and is taken once. What a frame means stands in `frames.rs`.
import socket, stat

ROOM = 1 << 20  # Output that was not acknowledged: the program waits beyond that.
PIECE = 64 << 10  # Of it in one frame.
HEAD = struct.Struct(">cQI")

mode, seat = sys.argv[2], "/tmp/" + sys.argv[3]


def linger():
    pass


def frame(kind, number, data=b""):
    return HEAD.pack(kind, number, len(data)) + data


def relay(line):
    """Passes on what comes, both ways, until either end is gone."""
    ends = {0: line.fileno(), line.fileno(): 1}
    while True:
        for end in select.select(list(ends), [], [])[0]:
            data = os.read(end, PIECE)
            if not data:
                return
            while data:
                data = data[os.write(ends[end], data):]


def come_back():
    line = socket.socket(socket.AF_UNIX)
    try:
        # Where anybody may make directories, one that is gone may be somebody else's.
        seen = os.lstat(seat)
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid() or seen.st_mode & 0o077:
            raise FileNotFoundError
        line.connect(seat + "/line")
    except (FileNotFoundError, ConnectionRefusedError):
        tell("gone")
        return
    tell("go")
    relay(line)


class Carrier(Carried):
    def __init__(self, pid, source, sink, is_tty, line):
        super().__init__(pid, source, sink, is_tty)  # Before what is held all has arrived.
        self.line = line
        self.is_known = False  # Whether somebody who is connected has said that the start was heard of.
        self.begin()

    def begin(self):
        self.sent = None  # Up to where this connection was given output; nothing before it has said what it has.
        self.out, self.come, self.told = bytearray(), b"", set()

    def arrived(self, have):
        if self.base < have <= self.end():
            del self.held[:have - self.base]
            self.base = have

    def tell_once(self, kind, number, data=b""):
        if kind not in self.told:
            self.told.add(kind)
            self.out += frame(kind, number, data)

    def fill(self):
        """What the connection is to be given, as far as it takes it."""
        if self.sent is None:
            return
        while self.sent < self.end() and len(self.out) < 2 * PIECE:
            piece = self.held[self.sent - self.base:self.sent - self.base + PIECE]
            self.out += frame(b"o", self.sent, piece)
            self.sent += len(piece)
        if self.exit and self.sent >= self.exit[0]:
            self.tell_once(b"x", *self.exit)
        if self.source < 0 and self.sent == self.end():
            self.tell_once(b"f", self.sent)

    def read_all(self):
        # A terminal gives 4 KiB at a time; what there is goes together.
        while len(self.held) < ROOM and self.read(min(PIECE, ROOM - len(self.held))):
            if self.sent is not None and self.end() - self.sent >= PIECE:
                return

    def printed(self, start):
        pass  # It is told as far as the connection takes it.

    def closed(self):
        pass

    def ended(self, how):
        self.exit = self.end(), how

    def stands(self):
        if self.sent is not None:
            self.out += frame(b"s", self.taken)

    def hear(self, kind, number, data):
        """Takes one frame; whether the carrier is to stay."""
        if kind == b"r":
            self.is_known = True
            self.arrived(number)
            self.sent = self.base
            self.stands()
        elif kind == b"a":
            self.arrived(number)
        elif kind == b"i":
            behind = self.taken + len(self.typed)
            if self.sink < 0:
                self.taken = max(self.taken, number + len(data))
                self.stands()
            elif number <= behind:
                self.typed += data[behind - number:]
                self.write()
        elif kind == b"e" and self.sink >= 0 and not self.is_tty:
            self.close_at = number
            self.write()
        elif kind == b"w" and self.is_tty and self.source >= 0:
            resize(self.source, number >> 16, number & 0xffff)
        return kind != b"z"

    def hear_all(self, data):
        self.come += data
        while len(self.come) >= HEAD.size:
            kind, number, length = HEAD.unpack_from(self.come)
            if len(self.come) < HEAD.size + length:
                break
            data, self.come = self.come[HEAD.size:HEAD.size + length], self.come[HEAD.size + length:]
            if not self.hear(kind, number, data):
                return False
        return True

    def part(self):
        self.line.close()
        self.line = None
        self.begin()

    def carry(self, woken, listener, mark, alone):
        """Until it is told to leave, or nothing was heard for so many seconds: nobody comes back."""
        heard_at = time.monotonic()
        while True:
            left = heard_at + alone - time.monotonic()
            # Who began this broke off before the start was heard of.
            if left < 0 or not (self.line or self.is_known):
                return self.leave_nothing(mark)
            self.fill()
            readers, writers = [woken, listener], []
            if self.line:
                readers.append(self.line)
                if self.out:
                    writers.append(self.line)
            if self.source >= 0 and len(self.held) < ROOM:
                readers.append(self.source)
            if self.sink >= 0 and self.typed:
                writers.append(self.sink)
            ready, writable, _ = select.select(readers, writers, [], left)
            if woken in ready:
                os.read(woken, 4096)
                self.reap()
            if self.sink in writable:
                self.write()
            if self.source in ready and self.source >= 0:
                self.read_all()
            try:
                if self.line in writable:
                    del self.out[:self.line.send(self.out[:2 * PIECE])]
                if self.line in ready:
                    data = self.line.recv(PIECE)
                    if not data:
                        raise ConnectionError
                    heard_at = time.monotonic()
                    if not self.hear_all(data):
                        return
            except BlockingIOError:
                pass
            except OSError:
                self.part()
            if listener in ready:
                if self.line:
                    self.part()
                self.line = listener.accept()[0]
                self.line.setblocking(False)


def run(spec, listener, line):
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    woken = alarm()
    pid, source, sink, is_tty = start(spec)
    mark = b"PTYARD_TERMINAL=" + spec["id"].encode()
    carrier = Carrier(pid, source, sink, is_tty, line)
    try:
        tell("pid:%d" % pid)
        tell("go")
        nothing = os.open("/dev/null", os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.chdir("/")
        line.setblocking(False)
        carrier.reap()
        carrier.carry(woken, listener, mark, spec["alone"])
    except OSError:
        # Nobody heard of the start, or nobody can be told anything any more.
        carrier.leave_nothing(mark)


def begin():
    tell("ready:%d" % os.getpid())
    spec = order()[0]
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.mkdir(seat, 0o700)
        listener.bind(seat + "/line")
        listener.listen(4)
    except OSError:
        refuse("bare")
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        listener.close()
        relay(ours)
        return
    ours.close()
    try:
        run(spec, listener, theirs)
    finally:
        os.unlink(seat + "/line")
        os.rmdir(seat)


try:
    (come_back if mode == "back" else begin)()
except OSError:
    pass  # The other end is gone.
