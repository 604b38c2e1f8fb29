"""ptyard as a sandbox of the OpenAI Agents SDK.

Every command of an agent runs in a terminal of ptyard: no byte of its output is lost, no character split, no exit
invented, whatever is cancelled when; and a terminal outlives the process that started it.
"""

from __future__ import annotations

from .client import PtyardSandboxClient
from .errors import YardError
from .options import OnClose, PtyardSandboxClientOptions, PtyardSandboxSessionState
from .session import PtyardSandboxSession

__all__ = [
    "OnClose",
    "PtyardSandboxClient",
    "PtyardSandboxClientOptions",
    "PtyardSandboxSession",
    "PtyardSandboxSessionState",
    "YardError",
]
