"""The paths of the webhooks: only whoever may read the registration or the Secret knows them.

A path begins with a token that is derived from the key of a CA in the Secret. The registration has
the token of the CA that signs; the tokens of all CAs are answered. So the paths change with the CA,
and processes that have not read a new CA yet still agree.

Versions before had no tokens. A path without one is answered while the registration still has such
paths: while replicas of both versions run, no gate closes.
"""

import asyncio
import hmac
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import Resource
from intact.operator.webhook.configuration import (
    MUTATING,
    NAME,
    VALIDATING,
    Json,
    WebhookConfiguration,
)

LOOK_EVERY = 5.0
"""Seconds between two reads of the registration, however often a path without a token is asked."""
PLAIN_AFTER = 60.0
"""Seconds for which API servers may not have seen yet that the registration has tokens now."""


class SecretPaths:
    def __init__(
        self,
        client: Client,
        plain: Collection[str],
        tokens: Callable[[], Collection[str]],
    ) -> None:
        """`plain` are the paths of the handlers."""
        self._client = client
        self._plain = frozenset(plain)
        self._tokens = tokens
        self._looked = float("-inf")
        self._plain_until = float("-inf")
        self._looking = asyncio.Lock()

    async def route(self, path: str) -> str | None:
        """The path of the handler; None if the request is not to be answered."""
        first, slash, rest = path.removeprefix("/").partition("/")
        given = first.encode()
        if any(hmac.compare_digest(given, token.encode()) for token in self._tokens()):
            return slash + rest
        if path in self._plain and await self._is_plain():
            return path
        return None

    async def _is_plain(self) -> bool:
        async with self._looking:
            if _now() >= self._looked + LOOK_EVERY:
                self._looked = _now()
                try:
                    plain = await self.registered_without_tokens()
                except KubeError:
                    plain = False
                if plain:
                    self._plain_until = _now() + PLAIN_AFTER
        return _now() < self._plain_until

    async def registered_without_tokens(self) -> bool:
        """Whether the registration has paths of an earlier version. Raises `KubeError`."""
        return await self._has_plain(VALIDATING) or await self._has_plain(MUTATING)

    async def _has_plain(self, resource: Resource[WebhookConfiguration]) -> bool:
        try:
            found = await self._client.get(resource, NAME)
        except NotFound:
            return False
        return any(_path(webhook) in self._plain for webhook in found.webhooks or ())


def _path(webhook: Json) -> str:
    config = webhook.get("clientConfig") or {}
    service = config.get("service") or {}
    return str(service.get("path") or urlsplit(str(config.get("url") or "")).path)


def _now() -> float:
    return asyncio.get_running_loop().time()
