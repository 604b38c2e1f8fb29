"""HTTP over a Unix socket on asyncio's own streams.

What httpx takes by default logs an error now and then when a call is cancelled while its bytes arrive; asyncio's
streams do not, and to be cancelled is usual here.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import httpcore
import httpx

# Idle connections that are kept. Each window that waits holds one of its own, without limit.
_IDLE_KEPT = 16


class UnixTransport(httpx.AsyncBaseTransport):
    """Sends requests to the server that listens on ``socket``. For one event loop."""

    def __init__(self, socket: Path) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            uds=str(socket),
            network_backend=_Network(),
            max_connections=None,
            max_keepalive_connections=_IDLE_KEPT,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        asked = httpcore.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        with _errors_of(request):
            answer = await self._pool.handle_async_request(asked)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer, request))

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response, request: httpx.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of(self._request):
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


@contextlib.contextmanager
def _errors_of(request: httpx.Request) -> Iterator[None]:
    try:
        yield
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        raise httpx.TransportError(f"{type(error).__name__}: {error}", request=request) from error


class _Network(httpcore.AsyncNetworkBackend):
    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(*await asyncio.open_unix_connection(path))
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error

    async def connect_tcp(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise httpcore.ConnectError("the server is on a Unix socket")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @contextlib.contextmanager
    def _within(self, timeout: float | None, late: type[Exception], broken: type[Exception]) -> Iterator[None]:
        """Breaks the connection when the time is up: a cancellation of its own could swallow one of the caller's."""
        is_late = False

        def expire() -> None:
            nonlocal is_late
            is_late = True
            self._writer.transport.abort()

        timer = None if timeout is None else asyncio.get_running_loop().call_later(timeout, expire)
        try:
            yield
        except OSError as error:
            if not is_late:
                raise broken(str(error)) from error
        finally:
            if timer is not None:
                timer.cancel()
        if is_late:
            raise late(f"no answer within {timeout} s")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self._within(timeout, httpcore.ReadTimeout, httpcore.ReadError):
            return await self._reader.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with self._within(timeout, httpcore.WriteTimeout, httpcore.WriteError):
            self._writer.write(buffer)
            await self._writer.drain()

    async def aclose(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> NoReturn:
        raise httpcore.ConnectError("a Unix socket has no TLS")

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return None
        # Asked of an idle connection, on which only its end can have arrived.
        if self._reader.at_eof() or self._writer.is_closing():
            return True
        poll = select.poll()
        poll.register(self._writer.get_extra_info("socket"), select.POLLIN)
        return bool(poll.poll(0))
