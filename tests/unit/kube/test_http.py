"""The transport against real servers on loopback."""

import asyncio
import json
import ssl
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from aiohttp import web

from devcluster.certificates import Authority, KeyPair
from intact.kube.config import Config, User
from intact.kube.errors import ConfigError, Silent, Unreachable
from intact.kube.exec_plugin import ExecConfig
from intact.kube.http import HttpTransport
from intact.kube.transport import Request, Response

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
GET = Request("GET", "/version")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxies of the machine that the tests run on are not asked."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki") / "ca")


@pytest.fixture(scope="module")
def serving_pair(authority: Authority) -> KeyPair:
    return authority.server("serving", "127.0.0.1")


@asynccontextmanager
async def serving(
    handler: Handler, context: ssl.SSLContext | None = None
) -> AsyncGenerator[str, None]:
    """Yields the server's URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncGenerator[tuple[str, list[bytes]], None]:
    """A server that answers the requests of each connection with these bytes and then closes it.

    Yields its URL, and the first line of each request.
    """
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head.split(b"\r\n")[0])
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    await reader.readexactly(int(line.split(b":")[1]))
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def transport_of(config: Config) -> AsyncGenerator[HttpTransport, None]:
    transport = HttpTransport(config)
    try:
        yield transport
    finally:
        await transport.close()


async def send(config: Config, request: Request = GET) -> Response:
    async with transport_of(config) as transport:
        return await transport.send(request)


def server_context(authority: Authority, pair: KeyPair, *, clients: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.pair.certificate)
    return context


def name_of_client(request: web.Request) -> str:
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert")
    return str(dict(pair for part in certificate["subject"] for pair in part)["commonName"])


async def ok(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="ok")


async def echo(request: web.Request) -> web.StreamResponse:
    return web.json_response(
        {
            "method": request.method,
            "path": request.raw_path.partition("?")[0],
            "query": dict(request.query),
            "headers": {key.title(): value for key, value in request.headers.items()},
            "body": await request.text(),
        }
    )


class TestRequests:
    async def test_method_path_query_and_body(self) -> None:
        query = {"labelSelector": "app in (a, b),c=d&e", "limit": "5"}
        path = "/apis/x/v1/things/system%3Aa%2Fb"
        request = Request("PATCH", path, query, b'{"a": 1}', "application/merge-patch+json")
        async with serving(echo) as server:
            response = await send(Config(f"{server}/prefix"), request)
        seen = json.loads(response.body)
        assert response.status == 200
        assert (seen["method"], seen["path"]) == ("PATCH", f"/prefix{path}")
        assert (seen["query"], seen["body"]) == (query, '{"a": 1}')
        assert seen["headers"]["Content-Type"] == "application/merge-patch+json"

    async def test_headers(self) -> None:
        user = User(token="t", impersonate="jane")
        async with serving(echo) as server:
            seen = json.loads((await send(Config(server, user))).body)["headers"]
        assert seen["Authorization"] == "Bearer t"
        assert seen["Impersonate-User"] == "jane"
        assert seen["User-Agent"] == f"intact/{version('intact')}"
        assert seen["Accept"] == "application/json"
        assert seen["Accept-Encoding"] == "identity"
        assert "Content-Type" not in seen

    async def test_every_group_is_sent(self) -> None:
        groups: list[str] = []

        async def handler(request: web.Request) -> web.StreamResponse:
            groups.extend(request.headers.getall("Impersonate-Group"))
            return web.Response()

        user = User(impersonate="jane", impersonate_groups=("a", "b"))
        async with serving(handler) as server:
            await send(Config(server, user))
        assert groups == ["a", "b"]

    @pytest.mark.parametrize("status", [200, 201, 302, 404, 429, 500])
    async def test_a_status_is_an_answer_and_never_an_error(self, status: int) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, text="body", headers={"Location": "/elsewhere"})

        async with serving(handler) as server:
            response = await send(Config(server))
        assert (response.status, response.body) == (status, b"body")

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [("7", 7.0), ("0", 0.0), ("", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None)],
    )
    async def test_retry_after(self, header: str, seconds: float | None) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            return web.Response(status=429, headers={"Retry-After": header} if header else {})

        async with serving(handler) as server:
            assert (await send(Config(server))).retry_after == seconds
            async with (
                transport_of(Config(server)) as transport,
                transport.stream(GET) as stream,
            ):
                assert (stream.status, stream.retry_after) == (429, seconds)

    @pytest.mark.parametrize(
        ("headers", "texts"),
        [
            ([], ()),
            (['299 - "policy/v1beta1 is deprecated"'], ("policy/v1beta1 is deprecated",)),
            (['299 - "one"', '299 - "two"'], ("one", "two")),
            ([r'299 - "unknown field \"spec.x\""'], ('unknown field "spec.x"',)),
            ([r'299 - "a \\ b"'], (r"a \ b",)),
            (["no warning at all"], ("no warning at all",)),
        ],
    )
    async def test_warnings(self, headers: list[str], texts: tuple[str, ...]) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.Response()
            for header in headers:
                response.headers.add("Warning", header)
            return response

        async with serving(handler) as server:
            assert (await send(Config(server))).warnings == texts


class TestTls:
    async def test_the_authority_of_the_config_is_trusted(
        self, authority: Authority, serving_pair: KeyPair
    ) -> None:
        async with serving(ok, server_context(authority, serving_pair)) as server:
            config = Config(server, certificate_authority=pem(authority.pair))
            assert (await send(config)).body == b"ok"

    async def test_another_authority_is_not(
        self, authority: Authority, serving_pair: KeyPair, tmp_path: Path
    ) -> None:
        other = Authority(tmp_path / "other")
        async with serving(ok, server_context(authority, serving_pair)) as server:
            config = Config(server, certificate_authority=pem(other.pair))
            with pytest.raises(
                Unreachable, match=f"cannot connect to {server}: .*verify failed"
            ) as e:
                await send(config)
        assert not e.value.sent

    async def test_unless_nothing_is_to_be_checked(
        self, authority: Authority, serving_pair: KeyPair
    ) -> None:
        async with serving(ok, server_context(authority, serving_pair)) as server:
            assert (await send(Config(server, insecure_skip_tls_verify=True))).body == b"ok"

    async def test_the_server_may_be_known_by_another_name(self, authority: Authority) -> None:
        pair = authority.server("names-only")
        async with serving(ok, server_context(authority, pair)) as server:
            config = Config(server, certificate_authority=pem(authority.pair))
            with pytest.raises(Unreachable, match="verify failed: IP address mismatch"):
                await send(config)
            assert (await send(replace(config, tls_server_name="kubernetes"))).body == b"ok"

    async def test_a_client_certificate(self, authority: Authority, serving_pair: KeyPair) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            return web.Response(text=name_of_client(request))

        jane = authority.client("jane", "jane")
        async with serving(
            handler, server_context(authority, serving_pair, clients=True)
        ) as server:
            config = Config(
                server,
                User(client_certificate=pem(jane), client_key=jane.key.read_bytes()),
                certificate_authority=pem(authority.pair),
            )
            assert (await send(config)).body == b"jane"
            with pytest.raises(Unreachable):
                await send(replace(config, user=User()))

    @pytest.mark.parametrize(
        "broken",
        [
            Config("https://host", certificate_authority=b"no certificate", source="my-config"),
            Config("https://host", certificate_authority=b"\xff", source="my-config"),
            Config(
                "https://host",
                User(client_certificate=b"no certificate", client_key=b"no key"),
                source="my-config",
            ),
        ],
    )
    async def test_what_cannot_be_used_is_said_before_the_first_request(
        self, broken: Config
    ) -> None:
        async with transport_of(broken) as transport:
            with pytest.raises(ConfigError, match="my-config: certificate or key cannot be used"):
                await transport.prepare()


def pem(pair: KeyPair) -> bytes:
    return pair.certificate.read_bytes()


class TestFailures:
    async def test_a_refused_connection_was_not_sent(self) -> None:
        async with serving(ok) as server:
            pass
        with pytest.raises(Unreachable, match=f"cannot connect to {server}") as caught:
            await send(Config(server))
        assert not caught.value.sent

    async def test_a_request_without_an_answer_in_time_was(self) -> None:
        async def handler(_request: web.Request) -> web.StreamResponse:
            await asyncio.Event().wait()
            return web.Response()

        async with serving(handler) as server:
            with pytest.raises(Unreachable, match=f"no answer from {server} in time") as caught:
                await send(Config(server), replace(GET, timeout=0.05))
        assert caught.value.sent

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"HTTP/1.1 20",
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            b"not http\r\n",
        ],
        ids=["no answer", "half a line", "half a body", "no http"],
    )
    async def test_a_connection_that_breaks_may_have_brought_it(self, answer: bytes) -> None:
        async with answering(answer) as (server, _):
            with pytest.raises(Unreachable, match=f"lost the connection to {server}") as caught:
                await send(Config(server))
        assert caught.value.sent

    @pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
    async def test_nothing_is_repeated_here_not_even_over_a_connection_that_was_idle(
        self, method: str
    ) -> None:
        """It is for the client to say what may be sent again."""
        fine = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        body = b"" if method == "GET" else b"{}"
        async with (
            answering(fine, b"") as (server, asked),
            transport_of(Config(server)) as transport,
        ):
            await transport.send(Request(method, "/x", body=body))
            with pytest.raises(Unreachable):
                await transport.send(Request(method, "/y", body=body))
        assert asked == [f"{method} /{path} HTTP/1.1".encode() for path in "xy"]


class TestStreams:
    async def test_chunks_come_as_they_are_sent(self) -> None:
        more = asyncio.Event()

        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"one\n")
            await more.wait()
            await response.write(b"two\n")
            return response

        async with (
            serving(handler) as server,
            transport_of(Config(server)) as transport,
            transport.stream(GET) as stream,
        ):
            assert stream.status == 200
            assert await anext(stream.chunks) == b"one\n"
            more.set()
            assert [chunk async for chunk in stream.chunks] == [b"two\n"]

    async def test_silence_ends_a_stream(self) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"one\n")
            await asyncio.Event().wait()
            return response

        async with (
            serving(handler) as server,
            transport_of(Config(server)) as transport,
            transport.stream(replace(GET, timeout=0.05)) as stream,
        ):
            assert await anext(stream.chunks) == b"one\n"
            with pytest.raises(Silent, match=r"a watch of .* was silent"):
                await anext(stream.chunks)

    async def test_a_stream_that_is_cut(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        async with (
            answering(head + b"4\r\none\n\r\n9\r\nhal") as (server, _),
            transport_of(Config(server)) as transport,
            transport.stream(GET) as stream,
        ):
            received = bytearray()

            async def receive() -> None:
                async for chunk in stream.chunks:
                    received.extend(chunk)

            with pytest.raises(Unreachable, match="lost the connection"):
                await receive()
        assert received.startswith(b"one\n")

    async def test_a_stream_that_is_left_gives_up_its_connection(self) -> None:
        left = asyncio.Event()

        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            try:
                while True:
                    await response.write(b"more\n")
                    await asyncio.sleep(0.001)
            finally:
                left.set()

        async with serving(handler) as server, transport_of(Config(server)) as transport:
            async with transport.stream(GET) as stream:
                await anext(stream.chunks)
            async with asyncio.timeout(60):
                await left.wait()


class TestCredentials:
    @staticmethod
    def accepting(*tokens: str) -> tuple[Handler, list[str]]:
        """Answers 401 to all other tokens; the list is of all that came."""
        came: list[str] = []

        async def handler(request: web.Request) -> web.StreamResponse:
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            came.append(token)
            return web.Response(status=200 if token in tokens else 401, text=token)

        return handler, came

    async def test_a_refused_token_is_read_again_and_the_request_repeated(
        self, tmp_path: Path
    ) -> None:
        file = TokenFile(tmp_path, "old")
        handler, came = self.accepting("new")
        async with (
            serving(handler) as server,
            transport_of(Config(server, User(token_file=file.path))) as transport,
        ):
            assert (await transport.send(GET)).status == 401
            file.write("new")
            request = Request("POST", "/x", body=b"{}")
            assert (await transport.send(request)).body == b"new"
            file.write("newer")
            assert (await transport.send(GET)).body == b"new"
        assert came == ["old", "old", "old", "new", "new"]

    async def test_a_stream_too(self, tmp_path: Path) -> None:
        file = TokenFile(tmp_path, "old")
        handler, came = self.accepting("new")
        async with (
            serving(handler) as server,
            transport_of(Config(server, User(token_file=file.path))) as transport,
        ):
            await transport.prepare()
            file.write("new")
            async with transport.stream(GET) as stream:
                assert stream.status == 200
        assert came == ["old", "new"]

    async def test_a_token_that_cannot_change_is_tried_once(self) -> None:
        handler, came = self.accepting("other")
        async with serving(handler) as server:
            assert (await send(Config(server, User(token="mine")))).status == 401
        assert came == ["mine"]

    async def test_credentials_that_cannot_be_had(self, tmp_path: Path) -> None:
        async with transport_of(
            Config("http://host", User(token_file=tmp_path / "missing"))
        ) as transport:
            with pytest.raises(ConfigError, match="missing"):
                await transport.prepare()
            with pytest.raises(ConfigError, match="missing"):
                await transport.send(GET)

    async def test_a_new_client_certificate_leaves_open_streams_alone(
        self, authority: Authority, serving_pair: KeyPair, tmp_path: Path
    ) -> None:
        refused: set[str] = set()
        more = asyncio.Event()

        async def handler(request: web.Request) -> web.StreamResponse:
            name = name_of_client(request)
            if name in refused:
                return web.Response(status=401)
            if request.path != "/watch":
                return web.Response(text=name)
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(name.encode())
            await more.wait()
            await response.write(b" still")
            return response

        plugin = CertificatePlugin(tmp_path)
        plugin.gives(authority.client("first", "first"))
        user = User(exec=plugin.config)
        async with (
            serving(handler, server_context(authority, serving_pair, clients=True)) as server,
            transport_of(
                Config(server, user, certificate_authority=pem(authority.pair))
            ) as transport,
            transport.stream(Request("GET", "/watch")) as stream,
        ):
            assert await anext(stream.chunks) == b"first"
            plugin.gives(authority.client("second", "second"))
            assert (await transport.send(GET)).body == b"first"
            refused.add("first")
            assert (await transport.send(GET)).body == b"second"
            more.set()
            assert [chunk async for chunk in stream.chunks] == [b" still"]


class TokenFile:
    def __init__(self, directory: Path, token: str) -> None:
        self.path = directory / "token"
        self.write(token)

    def write(self, token: str) -> None:
        self.path.write_text(token)


class CertificatePlugin:
    """A credential plugin that gives a client certificate."""

    def __init__(self, directory: Path) -> None:
        self._answer = directory / "answer.json"
        command = directory / "plugin"
        command.write_text(f"#!/bin/sh\nexec cat {self._answer}\n")
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        self._version = "client.authentication.k8s.io/v1"
        self.config = ExecConfig(command=str(command), api_version=self._version)

    def gives(self, pair: KeyPair) -> None:
        status = {
            "clientCertificateData": pair.certificate.read_text(),
            "clientKeyData": pair.key.read_text(),
        }
        answer = {"apiVersion": self._version, "kind": "ExecCredential", "status": status}
        self._answer.write_text(json.dumps(answer))


class TestProxy:
    @staticmethod
    async def proxy(request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"by proxy to {request.host}")

    async def test_the_config_s(self) -> None:
        async with serving(self.proxy) as server:
            config = Config("http://cluster.example", proxy_url=server)
            assert (await send(config)).body == b"by proxy to cluster.example"

    async def test_the_environment_s(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with serving(self.proxy) as server:
            monkeypatch.setenv("HTTP_PROXY", server)
            answer = await send(Config("http://cluster.example"))
        assert answer.body == b"by proxy to cluster.example"

    async def test_the_environment_s_exceptions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with serving(ok) as server:
            monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            assert (await send(Config(server))).body == b"ok"
