"""The transport to a real API server, over HTTP."""

import re
import ssl
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from intact import __version__
from intact.kube.config import Config
from intact.kube.credentials import Credential, Credentials
from intact.kube.errors import (
    ConfigError,
    cannot_connect,
    connection_lost,
    connects_too_slowly,
    no_answer,
    silent,
)
from intact.kube.exchange import Answer, Exchanges
from intact.kube.transport import Request, Response, Stream

CONNECT_TIMEOUT = 5.0
_CHUNK_LIMIT = 2**18


class HttpTransport:
    """Sends requests to one API server as one user."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._credentials = Credentials(config)
        self._connections: _Connections | None = None
        self._proxy = config.proxy_url or _proxy_of_environment(config.server)

    async def prepare(self) -> None:
        """Raises `ConfigError` if the credentials cannot be loaded or used."""
        await self._connections_for(await self._credentials.get())

    async def send(self, request: Request) -> Response:
        if request.method != "GET" and not self._proxy:
            return await self._write(request)
        timeout = aiohttp.ClientTimeout(total=request.timeout, sock_connect=CONNECT_TIMEOUT)
        async with self._exchange(request, timeout) as answer:
            with _translated(self._config.server):
                body = await answer.read()
            return Response(
                answer.status,
                body,
                _retry_after(answer.headers.get("Retry-After", "")),
                _warnings(answer.headers.getall("Warning", [])),
            )

    async def _write(self, request: Request) -> Response:
        credential = await self._credentials.get()
        answer = await self._exchange_once(request, credential)
        if answer.status == 401 and self._credentials.reject(credential):
            answer = await self._exchange_once(request, await self._credentials.get())
        warnings = _warnings(answer.all("warning")) if answer.first("warning") else ()
        return Response(
            answer.status, answer.body, _retry_after(answer.first("retry-after")), warnings
        )

    async def _exchange_once(self, request: Request, credential: Credential) -> Answer:
        connections = await self._connections_for(credential)
        connections.enter()
        try:
            head = connections.head(request, credential)
            return await connections.exchanges.send(head, request.body, request.timeout)
        finally:
            await connections.leave()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream, None]:
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT, sock_read=request.timeout
        )
        async with self._exchange(request, timeout) as answer:
            retry_after = _retry_after(answer.headers.get("Retry-After", ""))
            yield Stream(answer.status, _Chunks(answer, self._config.server), retry_after)

    async def close(self) -> None:
        if self._connections is not None:
            await self._connections.close()

    @asynccontextmanager
    async def _exchange(
        self, request: Request, timeout: aiohttp.ClientTimeout
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        credential = await self._credentials.get()
        answer, connections = await self._open(request, credential, timeout)
        if answer.status == 401 and self._credentials.reject(credential):
            answer.close()
            await connections.leave()
            credential = await self._credentials.get()
            answer, connections = await self._open(request, credential, timeout)
        try:
            yield answer
        finally:
            answer.release()
            await connections.leave()

    async def _open(
        self, request: Request, credential: Credential, timeout: aiohttp.ClientTimeout
    ) -> tuple[aiohttp.ClientResponse, "_Connections"]:
        connections = await self._connections_for(credential)
        headers = CIMultiDict(credential.headers)
        if request.body:
            headers["Content-Type"] = request.content_type
        connections.enter()
        try:
            with _translated(self._config.server):
                url = URL(self._config.server + request.path, encoded=True)
                answer = await connections.session.request(
                    request.method,
                    url.with_query(request.query) if request.query else url,
                    data=request.body or None,
                    headers=headers,
                    timeout=timeout,
                    proxy=self._proxy or None,
                    server_hostname=self._config.tls_server_name or None,
                    allow_redirects=False,
                )
        except BaseException:
            await connections.leave()
            raise
        return answer, connections

    async def _connections_for(self, credential: Credential) -> "_Connections":
        """A client certificate belongs to the connection: a new one needs new connections."""
        current = self._connections
        certificate = (credential.client_certificate, credential.client_key)
        if current is not None and current.certificate == certificate:
            return current
        self._connections = _Connections(self._config, certificate)
        if current is not None:
            await current.retire()
        return self._connections


class _Chunks:
    """The body of a response, as it arrives. Not a generator: a caller that leaves a generator
    half-way has to close it."""

    def __init__(self, answer: aiohttp.ClientResponse, server: str) -> None:
        self._content = answer.content
        self._server = server

    def __aiter__(self) -> "_Chunks":
        return self

    async def __anext__(self) -> bytes:
        with _translated(self._server):
            try:
                chunk = await self._content.readany()
            except TimeoutError as error:
                raise silent(self._server) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk


class _Connections:
    """A pool of connections with one client certificate; closes once retired and unused."""

    def __init__(self, config: Config, certificate: tuple[bytes, bytes]) -> None:
        self.certificate = certificate
        self._in_use = 0
        self._retired = False
        context = ssl_context(config, certificate)
        self._server = urlsplit(config.server)
        host, secure = self._server.hostname or "", self._server.scheme == "https"
        headers = {
            "User-Agent": f"intact/{__version__}",
            "Accept": "application/json",
            # Compressing costs both ends more than a cluster's own network gains.
            "Accept-Encoding": "identity",
        }
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=context),
            headers=headers,
            read_bufsize=_CHUNK_LIMIT,
        )
        self.exchanges = Exchanges(
            config.server,
            host,
            self._server.port or (443 if secure else 80),
            context if secure else None,
            config.tls_server_name or host,
            CONNECT_TIMEOUT,
        )
        self._headers = "".join(
            f"{name}: {text}\r\n"
            for name, text in [("Host", self._server.netloc), *headers.items()]
        )
        # aiohttp repeats a PUT or DELETE whose connection broke, although it may have been carried
        # out. `may_retry` decides what is repeated.
        self.session._retry_connection = False

    def head(self, request: Request, credential: Credential) -> bytes:
        """What is sent before the body."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        lines = [f"{request.method} {self._server.path}{request.path}{query} HTTP/1.1\r\n"]
        lines += [self._headers, *(f"{name}: {text}\r\n" for name, text in credential.headers)]
        if request.body:
            lines.append(f"Content-Type: {request.content_type}\r\n")
        return "".join(lines).encode()

    def enter(self) -> None:
        self._in_use += 1

    async def leave(self) -> None:
        self._in_use -= 1
        await self._close_if_done()

    async def retire(self) -> None:
        self._retired = True
        await self._close_if_done()

    async def _close_if_done(self) -> None:
        if self._retired and not self._in_use:
            await self.close()

    async def close(self) -> None:
        await self.exchanges.close()
        await self.session.close()


@contextmanager
def _translated(server: str) -> Generator[None, None, None]:
    """aiohttp's failures as ours."""
    try:
        yield
    except aiohttp.ClientConnectorError as error:
        raise cannot_connect(server, error) from error
    except aiohttp.ConnectionTimeoutError as error:
        raise connects_too_slowly(server, CONNECT_TIMEOUT) from error
    except TimeoutError as error:
        raise no_answer(server) from error
    except (aiohttp.ClientError, OSError) as error:
        raise connection_lost(server, error) from error


def ssl_context(config: Config, certificate: tuple[bytes, bytes]) -> ssl.SSLContext:
    """For connections to the config's server, with a client certificate and its key, if any."""
    try:
        authority = config.certificate_authority.decode()
        context = ssl.create_default_context(cadata=authority or None)
        # On from Python 3.13, and refuses the CAs of EKS and MicroK8s, which lack a key identifier
        # or a key usage. Chain, dates and host name are checked all the same.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if config.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate[0]:
            with tempfile.TemporaryDirectory() as directory:  # private; ssl reads files only
                chain, key = Path(directory, "chain.pem"), Path(directory, "key.pem")
                chain.write_bytes(certificate[0])
                key.write_bytes(certificate[1])
                context.load_cert_chain(chain, key)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"{config.source}: certificate or key cannot be used: {error}") from error
    return context


def _proxy_of_environment(server: str) -> str:
    parts = urlsplit(server)
    if proxy_bypass(parts.hostname or ""):
        return ""
    return getproxies().get(parts.scheme, "")


def _retry_after(value: str) -> float | None:
    return float(value) if value.isdigit() else None


def _warnings(values: list[str]) -> tuple[str, ...]:
    """The quoted text of each `Warning: 299 - "text"` header."""
    return tuple(
        re.sub(r"\\(.)", r"\1", value.partition(' "')[2].removesuffix('"')) or value
        for value in values
    )
