"""What goes over the wire: the parts of docs/openapi.json that are used here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

PROTOCOL = 1
"""The version of the protocol that is spoken here."""

MAX_TOKENS = 4_000_000
"""Most tokens of 4 bytes that one window holds: 16 MB."""

MAX_READ_BYTES = 16 << 20
"""Most bytes that one read of the log gives."""


class Policy(TypedDict):
    client: str
    max_terminals: int


class ExecRequest(TypedDict, total=False):
    argv: list[str]
    backend: str
    name: str
    tty: bool
    size: str
    stdin: Literal["null", "pipe"]
    cwd: str
    env: dict[str, str]
    caller_env: dict[str, str]
    policy: Policy


@dataclass(frozen=True)
class Exit:
    """How a program ended."""

    code: int | None
    signal: int | None
    descendants: int

    @property
    def status(self) -> int | None:
        """The code, or minus the signal as Python's ``subprocess`` says it; ``None`` when nobody knows."""
        if self.code is not None:
            return self.code
        return -self.signal if self.signal is not None else None

    @classmethod
    def of(cls, reply: dict[str, Any] | None) -> Exit | None:
        if reply is None:
            return None
        return cls(reply.get("code"), reply.get("signal"), reply.get("descendants", 0))


@dataclass(frozen=True)
class Window:
    """One window of output. ``start`` and ``next`` are offsets in the terminal's log."""

    id: str
    session_id: int | None
    output: str
    exit: Exit | None
    original_token_count: int | None
    start: int
    next: int
    evicted: int
    unwritten: int
    warnings: list[str]

    @classmethod
    def of(cls, reply: dict[str, Any]) -> Window:
        return cls(
            reply["id"],
            reply.get("session_id"),
            reply["output"],
            Exit.of(reply.get("exit")),
            reply.get("original_token_count"),
            reply["from"],
            reply["next"],
            reply["evicted"],
            reply.get("unwritten") or 0,
            reply.get("warnings") or [],
        )


@dataclass(frozen=True)
class Info:
    """What is known of a terminal. ``session_id`` is ``None`` once its end was handed over."""

    id: str
    session_id: int | None
    client: str | None
    tty: bool
    running: bool
    cursor: int

    @classmethod
    def of(cls, reply: dict[str, Any]) -> Info:
        running = reply["state"] == "running"
        return cls(reply["id"], reply.get("session_id"), reply.get("client"), reply["tty"], running, reply["cursor"])


@dataclass(frozen=True)
class Span:
    """Bytes of the log; ``evicted`` of those asked for are gone."""

    data: bytes
    evicted: int
