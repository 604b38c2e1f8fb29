"""Where the server is, and how one is started."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import YardError

# A new server reads back its state first; the program itself gives up after 60 s.
_START_TIMEOUT_S = 90.0


def default_state_dir() -> Path:
    """``$PTYARD_STATE``, else ``$XDG_STATE_HOME/ptyard``, else ``~/.local/state/ptyard``, as the command line."""
    if chosen := os.environ.get("PTYARD_STATE"):
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "ptyard"
    return Path.home() / ".local/state/ptyard"


_WHICH_PROGRAM = "put it on PATH, or set PTYARD_BIN to it"


@dataclass(frozen=True)
class Place:
    """One state directory, and the program that serves it.

    Attributes:
        state_dir: Absolute.
        program: The ``ptyard`` program; ``None`` is ``$PTYARD_BIN``, else the one on ``PATH``.
    """

    state_dir: Path
    program: Path | None

    @classmethod
    def of(cls, state_dir: str | Path | None, program: str | Path | None) -> Place:
        chosen = Path(state_dir) if state_dir is not None else default_state_dir()
        return cls(chosen.expanduser().absolute(), Path(program) if program is not None else None)

    @property
    def socket(self) -> Path:
        return self.state_dir / "ptyard.sock"

    def start(self) -> None:
        """Starts a server unless one answers. Of several at once one starts it, the others wait for it.

        Blocks. Any command of ``ptyard`` that needs a server starts one; this is the cheapest.
        """
        program = self._find_program()
        try:
            done = subprocess.run(
                [program, "--state", str(self.state_dir), "list", "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_START_TIMEOUT_S,
                start_new_session=True,
                check=False,
            )
        except OSError as error:
            message = f"the server could not be started: {error}"
            raise YardError("no_server", message, hint=_WHICH_PROGRAM) from error
        except subprocess.TimeoutExpired as error:
            raise YardError("no_server", f"the server could not be started: {error}", retryable=True) from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().removeprefix("error: ")
            raise YardError("no_server", f"the server could not be started: {said}", retryable=True)

    def name(self) -> str:
        """The program, as it is told of."""
        return str(self.program or os.environ.get("PTYARD_BIN") or "ptyard")

    def _find_program(self) -> str:
        if self.program is not None:
            return str(self.program)
        found = os.environ.get("PTYARD_BIN") or shutil.which("ptyard")
        if not found:
            raise YardError("no_server", "there is no ptyard program", hint=_WHICH_PROGRAM)
        return found
