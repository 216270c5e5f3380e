"""When a credential is taken from its source again, and what it says in a request."""

import asyncio
import base64
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from intact.kube.config import Config, User
from intact.kube.credentials import Credential, Credentials
from intact.kube.errors import ConfigError
from intact.kube.exec_plugin import ExecConfig

V1 = "client.authentication.k8s.io/v1"


class Clock:
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Plugin:
    """A credential plugin that counts how often it was run; its tokens are `token-1`, ….

    The counter is a file that grows by a byte a run.
    """

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._answer = directory / "answer"
        self._count = directory / "count"
        self._command = directory / "plugin"
        self._clock = clock
        self._command.write_text(
            f"#!/bin/sh\nprintf . >> {self._count}\n"
            f'sed "s/NUMBER/$(wc -c < {self._count})/" {self._answer}\n'
        )
        self._command.chmod(self._command.stat().st_mode | stat.S_IXUSR)
        self._count.touch()
        self.lives_for(None)

    @property
    def runs(self) -> int:
        return self._count.stat().st_size

    @property
    def config(self) -> Config:
        plugin = ExecConfig(command=str(self._command), api_version=V1)
        return Config("https://host", User(exec=plugin))

    def lives_for(self, seconds: float | None, **status: str) -> None:
        """From now on the answers expire so long after the present moment."""
        status = {"token": "token-NUMBER"} | status
        if seconds is not None:
            expiry = self._clock.now + timedelta(seconds=seconds)
            status["expirationTimestamp"] = expiry.isoformat()
        answer = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
        self._answer.write_text(json.dumps(answer))

    def breaks(self) -> None:
        self._answer.unlink()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def plugin(tmp_path: Path, clock: Clock) -> Plugin:
    return Plugin(tmp_path, clock)


def token_of(credential: Credential) -> str:
    return dict(credential.headers).get("Authorization", "").removeprefix("Bearer ")


async def headers_of(user: User) -> tuple[tuple[str, str], ...]:
    return (await Credentials(Config("https://host", user)).get()).headers


class TestHeaders:
    async def test_nobody(self) -> None:
        assert await headers_of(User()) == ()

    async def test_a_token(self) -> None:
        assert await headers_of(User(token="t")) == (("Authorization", "Bearer t"),)

    async def test_a_password(self) -> None:
        [(name, value)] = await headers_of(User(basic=("jane", "pass:word")))
        assert name == "Authorization"
        assert value.startswith("Basic ")
        assert base64.b64decode(value.removeprefix("Basic ")) == b"jane:pass:word"

    async def test_acting_as_somebody_else(self) -> None:
        user = User(
            token="t",
            impersonate="jane",
            impersonate_uid="7",
            impersonate_groups=("dev", "ops"),
        )
        assert await headers_of(user) == (
            ("Authorization", "Bearer t"),
            ("Impersonate-User", "jane"),
            ("Impersonate-Group", "dev"),
            ("Impersonate-Group", "ops"),
            ("Impersonate-Uid", "7"),
        )

    async def test_a_client_certificate_is_no_header(self) -> None:
        config = Config("https://host", User(client_certificate=b"crt", client_key=b"key"))
        assert await Credentials(config).get() == Credential((), b"crt", b"key")


class TokenFile:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "token"
        self.write(b"first\n")

    def write(self, content: bytes) -> None:
        self.path.write_bytes(content)

    def remove(self) -> None:
        self.path.unlink()


class TestTokenFile:
    @pytest.fixture
    def file(self, tmp_path: Path) -> TokenFile:
        return TokenFile(tmp_path)

    @pytest.fixture
    def credentials(self, file: TokenFile, clock: Clock) -> Credentials:
        return Credentials(Config("https://host", User(token_file=file.path)), clock)

    async def test_it_is_read_again_after_a_minute(
        self, credentials: Credentials, file: TokenFile, clock: Clock
    ) -> None:
        assert token_of(await credentials.get()) == "first"
        file.write(b"second")
        clock.move(59)
        assert token_of(await credentials.get()) == "first"
        clock.move(2)
        assert token_of(await credentials.get()) == "second"

    async def test_it_is_read_again_once_the_server_refuses_it(
        self, credentials: Credentials, file: TokenFile
    ) -> None:
        first = await credentials.get()
        file.write(b"second")
        assert credentials.reject(first)
        assert token_of(await credentials.get()) == "second"

    async def test_a_late_refusal_of_an_old_token_changes_nothing(
        self, credentials: Credentials, file: TokenFile
    ) -> None:
        first = await credentials.get()
        credentials.reject(first)
        second = await credentials.get()
        file.write(b"third")
        assert credentials.reject(first)
        assert await credentials.get() is second

    async def test_while_it_cannot_be_read_there_is_no_credential(
        self, credentials: Credentials, file: TokenFile, clock: Clock
    ) -> None:
        await credentials.get()
        file.remove()
        clock.move(61)
        for _ in range(2):
            with pytest.raises(ConfigError, match=f"token file {file.path}: .*No such file"):
                await credentials.get()
        file.write(b"second")
        assert token_of(await credentials.get()) == "second"

    @pytest.mark.parametrize("content", [b"", b" \n", b"\xff"])
    async def test_a_file_without_a_token(
        self, credentials: Credentials, file: TokenFile, content: bytes
    ) -> None:
        file.write(content)
        with pytest.raises(ConfigError, match=f"token file {file.path}"):
            await credentials.get()


class TestPlugin:
    async def test_without_an_expiry_it_is_run_once(self, plugin: Plugin, clock: Clock) -> None:
        credentials = Credentials(plugin.config, clock)
        await credentials.get()
        clock.move(10**8)
        assert token_of(await credentials.get()) == "token-1"
        assert plugin.runs == 1

    async def test_it_is_run_again_before_the_expiry_and_not_before(
        self, plugin: Plugin, clock: Clock
    ) -> None:
        credentials = Credentials(plugin.config, clock)
        plugin.lives_for(600)
        await credentials.get()
        clock.move(569)
        assert token_of(await credentials.get()) == "token-1"
        clock.move(2)
        assert token_of(await credentials.get()) == "token-2"

    async def test_a_short_lived_credential_is_not_asked_for_at_each_request(
        self, plugin: Plugin, clock: Clock
    ) -> None:
        credentials = Credentials(plugin.config, clock)
        plugin.lives_for(8)
        for _ in range(5):
            await credentials.get()
            clock.move(1)
        assert plugin.runs == 1
        clock.move(2)
        await credentials.get()
        assert plugin.runs == 2

    async def test_an_expiry_without_a_zone_is_utc(self, plugin: Plugin, clock: Clock) -> None:
        credentials = Credentials(plugin.config, clock)
        plugin.lives_for(None, expirationTimestamp="2026-01-01T00:10:00")
        await credentials.get()
        clock.move(569)
        await credentials.get()
        assert plugin.runs == 1
        clock.move(2)
        await credentials.get()
        assert plugin.runs == 2

    async def test_it_is_run_again_once_the_server_refuses_its_answer(
        self, plugin: Plugin, clock: Clock
    ) -> None:
        credentials = Credentials(plugin.config, clock)
        assert credentials.reject(await credentials.get())
        assert token_of(await credentials.get()) == "token-2"

    async def test_many_requests_at_once_run_it_once(self, plugin: Plugin, clock: Clock) -> None:
        credentials = Credentials(plugin.config, clock)
        found = await asyncio.gather(*(credentials.get() for _ in range(10)))
        assert [token_of(each) for each in found] == ["token-1"] * 10

    async def test_when_it_fails_an_expired_credential_is_not_taken_for_a_fresh_one(
        self, plugin: Plugin, clock: Clock
    ) -> None:
        credentials = Credentials(plugin.config, clock)
        plugin.lives_for(600)
        await credentials.get()
        plugin.breaks()
        clock.move(601)
        for _ in range(2):
            with pytest.raises(ConfigError, match="failed with code"):
                await credentials.get()
        plugin.lives_for(600)
        assert token_of(await credentials.get()) == "token-4"

    async def test_a_certificate(self, plugin: Plugin, clock: Clock) -> None:
        plugin.lives_for(None, token="", clientCertificateData="CRT", clientKeyData="KEY")
        credentials = Credentials(plugin.config, clock)
        assert await credentials.get() == Credential((), b"CRT", b"KEY")


@pytest.mark.parametrize(
    "user", [User(), User(token="t"), User(basic=("u", "p")), User(client_certificate=b"c")]
)
async def test_what_cannot_change_is_not_asked_for_again(user: User) -> None:
    credentials = Credentials(Config("https://host", user))
    assert not credentials.reject(await credentials.get())
