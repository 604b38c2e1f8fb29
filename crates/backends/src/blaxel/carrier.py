# Carries the bytes of a program over a terminal that passes on nothing but text, and of that not everything.
# Both ways go lines of ASCII. Output has its offset and is kept until it is known to have arrived; input has its offset
# and is taken once. How a line is written, and what it means, stands in `lines.rs`.
import tty, zlib

PIECE = 4096  # The terminal is read in pieces of at most so many bytes,
WINDOW = 48  # and drops what is more than 64 behind for somebody. So many are on their way: then the program waits.
KEPT = 256 << 10  # Output that is kept behind that: who comes later may have less of it than who was there before.
PLAIN = 3000  # Output in a line that says it as it is, which one piece holds.
PACKED = 16 << 10  # Output in a line that says it packed.
SHORT = 200  # What is not longer is not packed.


def linger():
    # What the terminal printed is forgotten when its shell ends, so it is to be heard first.
    os.read(0, 65536)


def packed(block):
    # A window as long as the block, and the tables for it: the usual ones take as long to be made as to be used.
    packer = zlib.compressobj(1, zlib.DEFLATED, 14, 7)
    return packer.compress(block) + packer.flush()


def say(line):
    """Says a line; how many pieces of the terminal it takes."""
    line = b"~%08x %s\n" % (zlib.adler32(line), line)
    write(line)
    return len(line) // PIECE + 1


class Carrier(Carried):
    def __init__(self, pid, source, sink, is_tty, lines):
        super().__init__(pid, source, sink, is_tty)
        self.lines = lines
        self.said = 0  # Up to where output was said.
        self.going = []  # What of it did not arrive yet: where each line ends, and its pieces.
        self.unpacked = 0  # Before so much more output it is not tried to pack any.
        self.asked = 0  # The number of the last question.
        self.shut = None  # Where the output ended, and the line that tells so; that of the program is in `exit`.
        self.untold = []  # Which of them are still to be said.

    def printed(self, start):
        pass  # It is said as far as there is room.

    def fill(self):
        # A terminal gives 4 KiB at a time; what there is goes together.
        while self.end() - self.said < PACKED and self.read(PACKED - (self.end() - self.said)):
            pass

    def flow(self):
        """Says what there is room for."""
        while self.said < self.end() and sum(pieces for _, pieces in self.going) < WINDOW:
            self.say_output()
        while self.untold and self.untold[0][0] <= self.said:
            say(self.untold.pop(0)[1])

    def say_output(self):
        begin = self.said - self.base
        block = self.held[begin:begin + PACKED]
        if len(block) > SHORT and self.unpacked <= 0:
            data = packed(block)
            if len(data) < len(block) * 3 // 4:
                return self.say_block(b"z", len(block), data)
            self.unpacked = 16 * PACKED
        block = block[:PLAIN]
        self.unpacked -= len(block)
        self.say_block(b"o", len(block), block)

    def say_block(self, kind, length, data):
        pieces = say(b"%s %d %s" % (kind, self.said, base64.b64encode(data)))
        self.said += length
        self.going.append((self.said, pieces))

    def stands(self):
        say(b"s %d %d %d %d" % (self.said, self.taken, self.taken + len(self.typed), self.asked))

    def arrived(self, have):
        self.going = [(end, pieces) for end, pieces in self.going if end > have]
        # What is kept is cut now and then, because the rest is moved each time.
        if have <= self.said and have - self.base > 2 * KEPT:
            del self.held[:have - KEPT - self.base]
            self.base = have - KEPT

    def again(self, start):
        self.said = min(max(start, self.base), self.end())
        self.going = [(end, pieces) for end, pieces in self.going if end <= self.said]

    def closed(self):
        self.shut = self.end(), b"f %d" % self.end()
        self.untold.append(self.shut)

    def ended(self, how):
        self.exit = self.end(), b"x %d %s" % (self.end(), how)
        self.untold.append(self.exit)

    def hear(self, line):
        words = line.split()
        if len(words) < 2 or words[0] != b":":
            return
        kind, rest = words[1], words[2:]
        if kind in b"ar":
            self.arrived(int(rest[0]))
        if kind == b"r":
            self.again(int(rest[1]))
        elif kind == b"q":
            self.asked = int(rest[0])
            self.stands()
            # These may be what was lost last.
            self.untold = [end for end in (self.exit, self.shut) if end]
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
            if self.source >= 0 and self.end() - self.said < PACKED:
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
                self.fill()
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
            self.flow()


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
carrier.flow()
carrier.carry(woken, b"PTYARD_TERMINAL=" + spec["id"].encode(), spec["alone"])
