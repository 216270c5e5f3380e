"""The credentials of a user, kept fresh: token files re-read, plugins run again before expiry."""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from intact.kube.config import Config
from intact.kube.errors import ConfigError
from intact.kube.exec_plugin import ClusterInfo, ExecCredential, run_plugin

TOKEN_FILE_MAX_AGE = 60.0
"""Seconds. The kubelet renews a token when a fifth of its life is left: minutes at the least."""
EXPIRY_MARGIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Credential:
    """What goes into a request: headers, and the certificate of the connection it goes over."""

    headers: tuple[tuple[str, str], ...] = ()
    client_certificate: bytes = b""
    client_key: bytes = b""


class Credentials:
    """The present credential of a config's user."""

    def __init__(
        self, config: Config, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._config = config
        self._now = now
        self._lock = asyncio.Lock()
        self._current: Credential | None = None
        self._fresh_until: datetime | None = None

    async def get(self) -> Credential:
        if self._is_fresh():
            assert self._current is not None
            return self._current
        async with self._lock:
            if not self._is_fresh():
                self._current, self._fresh_until = await self._load()
            assert self._current is not None
            return self._current

    def reject(self, credential: Credential) -> bool:
        """The server refused this credential (401). True if loading it again may give another."""
        renewable = self._config.user.exec is not None or self._config.user.token_file is not None
        if renewable and credential is self._current:
            self._current = None
        return renewable

    def _is_fresh(self) -> bool:
        if self._current is None:
            return False
        return self._fresh_until is None or self._now() < self._fresh_until

    async def _load(self) -> tuple[Credential, datetime | None]:
        """The credential, and until when it need not be loaded again."""
        user = self._config.user
        fresh_until = None
        token, certificate, key = user.token, user.client_certificate, user.client_key
        authorization = ""
        if user.token_file is not None:
            try:
                token = user.token_file.read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"token file {user.token_file}: {error}") from error
            if not token:
                raise ConfigError(f"token file {user.token_file} is empty")
            fresh_until = self._now() + timedelta(seconds=TOKEN_FILE_MAX_AGE)
        elif user.exec is not None:
            answer = await run_plugin(user.exec, self._cluster_info())
            token = answer.token
            if answer.client_certificate_data:
                certificate = answer.client_certificate_data.encode()
                key = answer.client_key_data.encode()
            fresh_until = _fresh_until(answer, self._now())
        elif user.basic is not None:
            pair = ":".join(user.basic).encode()
            authorization = f"Basic {base64.b64encode(pair).decode()}"
        if token:
            authorization = f"Bearer {token}"
        headers = [("Authorization", authorization)] if authorization else []
        if user.impersonate:
            headers.append(("Impersonate-User", user.impersonate))
            headers += [("Impersonate-Group", group) for group in user.impersonate_groups]
            if user.impersonate_uid:
                headers.append(("Impersonate-Uid", user.impersonate_uid))
        return Credential(tuple(headers), certificate, key), fresh_until

    def _cluster_info(self) -> ClusterInfo:
        config = self._config
        return ClusterInfo(
            server=config.server,
            certificate_authority_data=base64.b64encode(config.certificate_authority).decode(),
            tls_server_name=config.tls_server_name,
            insecure_skip_tls_verify=config.insecure_skip_tls_verify,
            proxy_url=config.proxy_url,
        )


def _fresh_until(answer: ExecCredential, now: datetime) -> datetime | None:
    """Without an expiry a plugin's answer is good until the server refuses it."""
    expiry = answer.expiration_timestamp
    if expiry is None:
        return None
    if expiry.tzinfo is None:
        expiry = expiry.replace(tzinfo=UTC)
    # A credential that lives for seconds must not be loaded again for every request.
    return expiry - min(EXPIRY_MARGIN, max((expiry - now) / 4, timedelta()))
