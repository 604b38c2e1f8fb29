#!/usr/bin/env python3
"""An agent of a few lines, the same for everybody who is measured: `❯ ` when it is ready, `> MOCK: LINE` as its answer.

It reads its terminal in raw mode and writes down, in the file that MOCK_STAMPS names, when the first byte of a message
and when its Enter came: nanoseconds of the monotonic clock. While the file MOCK_GATE is there, no turn ends.
"""

import os
import sys
import termios
import time
import tty

DELAY_S = 0.05
if "--delay-ms" in sys.argv:
    DELAY_S = int(sys.argv[sys.argv.index("--delay-ms") + 1]) / 1000
GATE = os.environ.get("MOCK_GATE", "/nonexistent")
STAMPS = os.environ.get("MOCK_STAMPS")
if STAMPS and os.path.isdir(STAMPS):
    STAMPS = os.path.join(STAMPS, str(os.getpid()))


def say(text):
    os.write(1, text.encode())


def main():
    before = termios.tcgetattr(0)
    tty.setraw(0)
    say("mock agent\r\n❯ ")
    line = b""
    try:
        while data := os.read(0, 65536):
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if not line:
                stamp_at = now
            line += data
            shown = data.replace(b"\x1b[200~", b"").replace(b"\x1b[201~", b"")
            say(shown.rstrip(b"\r").decode(errors="replace").replace("\n", "\r\n"))
            if not line.endswith(b"\r"):
                continue
            text = line.replace(b"\x1b[200~", b"").replace(b"\x1b[201~", b"").decode(errors="replace").strip()
            line = b""
            if not text:
                continue
            if STAMPS:
                # One write each, so that a reader sees whole messages.
                with open(STAMPS, "a", encoding="utf-8") as file:
                    file.write(f"first\t{stamp_at}\t{text}\nenter\t{now}\t{text}\n")
            say("\r\n* working\r\n")
            time.sleep(DELAY_S)
            while os.path.exists(GATE):
                time.sleep(0.001)
            say(f"> MOCK: {text}\r\n❯ ")
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


main()
