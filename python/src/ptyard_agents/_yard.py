"""The server, over its socket."""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx

from ._place import Place
from ._transport import UnixTransport
from ._wire import MAX_READ_BYTES, PROTOCOL, ExecRequest, Exit, Info, Span, Window
from .errors import YardError

# What a call may take beyond the time it is to wait.
_SLACK_S = 30.0
# How often a call is made again whose server died under it. Programs outlive their server.
_ATTEMPTS = 3

_GONE = {"unknown_terminal", "terminal_removed"}


def is_gone(error: YardError) -> bool:
    """Whether the terminal does not exist, or no longer."""
    return error.code in _GONE


class Yard:
    """Talks to the server of one state directory, and starts it when none answers.

    Every call may be cancelled anywhere. Every call can be made again when the connection broke: a start by its name,
    typing by its key.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._http is None or self._http.is_closed or self._loop is not loop:
            transport = UnixTransport(self.place.socket)
            self._http = httpx.AsyncClient(transport=transport, base_url="http://ptyard", trust_env=False)
            self._loop = loop
        return self._http

    async def aclose(self) -> None:
        """Closes the connections; the next call opens new ones."""
        http, self._http = self._http, None
        if http is not None and self._loop is asyncio.get_running_loop():
            await http.aclose()

    async def _send(
        self,
        method: str,
        path: str,
        *,
        json: Mapping[str, Any] | None = None,
        params: dict[str, str | int] | None = None,
        wait_s: float | None = 0.0,
    ) -> httpx.Response:
        """``wait_s`` is how long the server may wait before it answers; ``None`` as long as it takes."""
        read = None if wait_s is None else wait_s + _SLACK_S
        timeout = httpx.Timeout(_SLACK_S, read=read, pool=None)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                response = await self._client().request(method, path, json=json, params=params, timeout=timeout)
            except httpx.TransportError as error:
                if attempt == _ATTEMPTS:
                    message = f"the server does not answer: {error or type(error).__name__}"
                    hint = f"{self.place.name()} started none in {self.place.state_dir}: is it ptyard?"
                    raise YardError("no_server", message, hint=hint, retryable=True) from error
                await asyncio.to_thread(self.place.start)
                continue
            if response.is_error:
                raise _refusal(response)
            return response
        raise AssertionError("unreachable")

    async def check(self) -> None:
        """Starts the server if need be, and makes sure that it speaks this protocol."""
        version = (await self._send("GET", "/v1/version")).json()
        if version["protocol"] != PROTOCOL:
            message = f"the server is ptyard {version['version']} and speaks protocol {version['protocol']}"
            hint = f"this package speaks {PROTOCOL}: install the one that belongs to it"
            raise YardError("incompatible_server", message, hint=hint)

    async def exec(self, request: ExecRequest) -> Window:
        """Starts a program and returns at once, with what it has printed by then.

        The request has a unique name. When the connection breaks, the name tells whether the program was started.
        """
        body = {**request, "until": ["exit"], "yield_ms": 0, "max_tokens": 1}
        try:
            return Window.of((await self._send("POST", "/v1/terminals", json=body)).json())
        except YardError as error:
            if error.code != "name_taken":
                raise
        # It was started, and the reply was lost. Nothing was handed over to anybody.
        info = await self.info(request["name"])
        return Window(info.id, info.session_id, "", None, None, 0, 0, 0, 0, [])

    async def write(
        self,
        at: str,
        *,
        typed: bytes = b"",
        yield_ms: int,
        max_tokens: int,
        until: tuple[str, ...] = (),
        take_ms: int | None = None,
        since: int | None = None,
    ) -> Window:
        """Types, or does not, and takes a window on the shared cursor, or from ``since`` on, which moves nothing. The
        times are taken as they are.

        The program may take ``take_ms`` to take the input, and the window's time begins then; ``None`` is both within
        ``yield_ms``.
        """
        body: dict[str, Any] = {"yield_ms": yield_ms, "max_tokens": max_tokens, "until": ["exit", *until]}
        if since is not None:
            body["since"] = since
        if typed:
            body["input"] = {"base64": base64.b64encode(typed).decode("ascii")}
            body["key"] = uuid.uuid4().hex
            if take_ms is not None:
                body["take_ms"] = take_ms
        wait_s = (yield_ms + (take_ms or 0)) / 1000
        reply = await self._send("POST", f"/v1/terminals/{at}/write", json=body, wait_s=wait_s)
        return Window.of(reply.json())

    async def wait(self, at: str, timeout_s: float | None) -> Exit | None:
        """Waits for the end; ``None`` when it did not come in time."""
        body: dict[str, Any] = {"until": ["exit"]}
        if timeout_s is not None:
            body["timeout_ms"] = int(timeout_s * 1000)
        reply = (await self._send("POST", f"/v1/terminals/{at}/wait", json=body, wait_s=timeout_s)).json()
        return Exit.of(reply.get("exit"))

    async def read(self, at: str, start: int, end: int | None = None) -> Span:
        """The bytes of the log from ``start`` to ``end``, or all there are. Moves no cursor."""
        parts: list[bytes] = []
        evicted = 0
        while end is None or start < end:
            most = MAX_READ_BYTES if end is None else min(MAX_READ_BYTES, end - start)
            params: dict[str, str | int] = {"since": start, "max_bytes": most, "raw": "true"}
            response = await self._send("GET", f"/v1/terminals/{at}/output", params=params)
            if not response.content:
                break
            evicted += int(response.headers["ptyard-evicted"])
            begin = int(response.headers["ptyard-from"])
            parts.append(response.content if end is None else response.content[: max(0, end - begin)])
            start = int(response.headers["ptyard-next"])
        return Span(b"".join(parts), evicted)

    async def info(self, at: str | int) -> Info:
        return Info.of((await self._send("GET", f"/v1/terminals/{at}")).json())

    async def list(self) -> list[Info]:
        return [Info.of(reply) for reply in (await self._send("GET", "/v1/terminals")).json()]

    async def close_stdin(self, at: str) -> None:
        await self._send("POST", f"/v1/terminals/{at}/close-stdin")

    async def kill(self, at: str, grace_ms: int) -> None:
        """Ends a program and everything it started, and waits for that."""
        body = {"grace_ms": grace_ms}
        await self._send("POST", f"/v1/terminals/{at}/kill", json=body, wait_s=grace_ms / 1000)

    async def remove(self, at: str) -> None:
        """Removes an ended terminal and its log."""
        await self._send("DELETE", f"/v1/terminals/{at}")


def _refusal(response: httpx.Response) -> YardError:
    try:
        error = response.json()["error"]
        return YardError(
            error["code"], error["message"], hint=error.get("hint", ""), retryable=error.get("retryable", False)
        )
    except (ValueError, KeyError, TypeError):
        said = f"{response.status_code} {HTTPStatus(response.status_code).phrase}"
        return YardError("internal", f"the server answered {said}")
