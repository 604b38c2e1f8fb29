# Carries the bytes of a program over a terminal that passes on nothing but text, and of that not everything.
# Both ways go lines of ASCII. Output has its offset and is kept until it is known to have arrived; input has its offset
# and is taken once. How a line is written, and what it means, stands in `lines.rs`.
import tty, zlib

HELD = 96 << 10  # Output that was not acknowledged: the program waits beyond that.
KEPT = 256 << 10  # Output that is kept behind that: who comes later may have less of it than who was there before.
PIECE = 3000  # Of it in one line, which the terminal's own pieces of 4,096 bytes hold.


def linger():
    # What the terminal printed is forgotten when its shell ends, so it is to be heard first.
    os.read(0, 65536)


def say(line):
    write(b"~%08x %s\n" % (zlib.adler32(line), line))


class Carrier(Carried):
    def __init__(self, pid, source, sink, is_tty, lines):
        super().__init__(pid, source, sink, is_tty)
        self.lines = lines
        self.acked = 0  # Up to where output has arrived.
        self.asked = 0  # The number of the last question.
        self.shut = None  # The line that tells the end of the output; that of the program stands in `exit`.

    def printed(self, start):
        for at in range(start, self.end(), PIECE):
            piece = self.held[at - self.base:at - self.base + PIECE]
            say(b"o %d %s" % (at, base64.b64encode(piece)))

    def stands(self):
        say(b"s %d %d %d %d" % (self.end(), self.taken, self.taken + len(self.typed), self.asked))

    def again(self, start):
        self.printed(max(start, self.base))
        for line in (self.exit, self.shut):
            if line:
                say(line)

    def closed(self):
        self.shut = b"f %d" % self.end()
        say(self.shut)

    def ended(self, how):
        # The end of the output may have been told by then, and stands behind this one when it is told again.
        self.exit = b"x %d %s" % (self.end(), how)
        say(self.exit)
        if self.shut:
            say(self.shut)

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
            self.stands()
        elif kind == b"i":
            at, data = int(rest[0]), base64.b64decode(rest[1])
            behind = self.taken + len(self.typed)
            if self.sink < 0:
                self.taken = max(self.taken, at + len(data))
                self.stands()
            elif at <= behind < at + len(data):
                self.typed += data[behind - at:]
                self.write()
            else:
                self.stands()
        elif kind == b"e":
            if self.sink >= 0 and not self.is_tty:
                self.close_at = int(rest[0])
                self.write()
            self.stands()
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
                return self.leave_nothing(mark)
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
                    return self.leave_nothing(mark)
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
woken = alarm()
pid, source, sink, is_tty = start(spec)
tell("pid:%d" % pid)
tell("go")
carrier = Carrier(pid, source, sink, is_tty, lines)
carrier.reap()
carrier.carry(woken, b"PTYARD_TERMINAL=" + spec["id"].encode(), spec["alone"])
