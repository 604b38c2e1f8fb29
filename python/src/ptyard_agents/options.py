"""What a session is created with, and what of it is kept."""

from __future__ import annotations

from typing import Literal

from agents.sandbox.session import BaseSandboxClientOptions, SandboxSessionState

OnClose = Literal["end", "keep"]
"""What becomes of the terminals when a session is stopped: they are ended, as the SDK's own sandboxes do, or they run
on, to be found again when the session is resumed. Deleting a session ends them in any case."""


class PtyardSandboxClientOptions(BaseSandboxClientOptions):
    """Options of a session.

    Attributes:
        backend: Where programs run: ``local``, or any backend of the server.
        size: ``COLSxROWS`` of a tty.
        until: Conditions besides the program's end that end a window early: ``prompt``, ``quiet:MS``, ``regex:RE``.
        on_close: What becomes of the terminals when the session is stopped.
        exposed_ports: Ports that programs listen on.
    """

    type: Literal["ptyard"] = "ptyard"
    backend: str = "local"
    size: str = "80x24"
    until: tuple[str, ...] = ()
    on_close: OnClose = "end"
    exposed_ports: tuple[int, ...] = ()


class PtyardSandboxSessionState(SandboxSessionState):
    """What a session is resumed from. The server knows its terminals by ``session_id``."""

    type: Literal["ptyard"] = "ptyard"
    backend: str = "local"
    size: str = "80x24"
    until: tuple[str, ...] = ()
    on_close: OnClose = "end"
    workspace_root_owned: bool = False
