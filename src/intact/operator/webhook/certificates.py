"""The certificates of the admission server, renewed while it serves.

The authority is in a Secret that all processes share: the first process creates it, and the first
that finds it due renews it, by compare-and-swap. Each process signs a short-lived leaf of its own
and puts it into the live TLS context, where new connections take it up. The API server trusts a
renewed authority, through the registration, long before a leaf is signed by it, so no request ever
meets an unknown one. A Secret that was deleted or spoilt is written again from memory: leaves stay
valid.

Whatever is in the Secret, it ends no process: what cannot be used is replaced, and reported in the
log, in an event on the Secret and in a metric.
"""

import asyncio
import base64
import logging
import os
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from intact.kube.client import Client
from intact.kube.errors import AlreadyExists, Conflict, Invalid, KubeError, NotFound
from intact.kube.events import EventRecorder, reference_to
from intact.kube.resources import Resource
from intact.model.secret import Secret
from intact.operator.names import WRITTEN_LABELS
from intact.operator.webhook.authority import (
    LEAF_RENEWED_AFTER,
    Authority,
    Certified,
    Unusable,
    new_authority,
    read_authority,
)
from intact.operator.webhook.client_ca import ClientCa

log = logging.getLogger(__name__)

REPLACED = "SecretReplaced"
SECRET = "intact-webhook-ca"  # noqa: S105 - a name
CHECK_EVERY = 60.0
"""Seconds between two reads of the Secret."""
_BUNDLE, _KEYS = "ca.crt", "ca.key"
_ATTEMPTS = 10
SECRETS = Resource(Secret, "", "v1", "secrets", "Secret")


def service_names(namespace: str, name: str) -> list[str]:
    """The names by which the API server may address a Service."""
    return [f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local"]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Certificates:
    """`context` serves; `ca_bundle` is what the registration must trust."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        names: Sequence[str],
        *,
        clock: Callable[[], datetime] = _utc_now,
        events: EventRecorder | None = None,
        client_ca: ClientCa | None = None,
    ) -> None:
        self._client_ca = client_ca
        self._leaf: Certified | None = None
        self.context = self._new_context()
        """For the next connection: another one after the CA of the clients has changed."""
        self.error: str | None = None
        """Why the Secret could not be read or written; None while all is well."""
        self.replaced = 0
        """How often a Secret that could not be used was replaced."""
        self._events = events
        self._client = client
        self._namespace = namespace
        self._names = list(names)
        self._clock = clock
        self._authority: Authority | None = None
        self._signer: Certified | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def ca_bundle(self) -> bytes:
        """PEM. There is one after the first `refresh`."""
        assert self._authority is not None, "refresh comes first"
        return self._authority.bundle

    @property
    def tokens(self) -> list[str]:
        """Those that are answered; none before the first `refresh`."""
        return [] if self._authority is None else self._authority.tokens

    @property
    def token(self) -> str:
        """The one that is registered: all processes know its CA."""
        assert self._authority is not None, "refresh comes first"
        return self._authority.signer(self._clock()).token

    @property
    def expires(self) -> datetime:
        """When the leaf that is served ends."""
        assert self._leaf is not None, "refresh comes first"
        return self._leaf.expires

    def expiries(self) -> dict[str, datetime]:
        """When the certificate that is served ends, and the CA that signed it; empty before the
        first `refresh`."""
        if self._leaf is None or self._signer is None:
            return {}
        return {"ca": self._signer.expires, "serving": self._leaf.expires}

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call this whenever `ca_bundle` changes."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Keeps everything valid until cancelled. What fails is retried at the next check."""
        while True:
            await asyncio.sleep(CHECK_EVERY)
            if self._client_ca is not None and self._client_ca.reload():
                self.context = self._new_context()
                log.info("the CA of the webhooks' clients has changed")
            try:
                await self.refresh()
            except KubeError as error:
                if self.error != str(error):
                    log.warning("Secret %s/%s: %s", self._namespace, SECRET, error)
                self.error = str(error)
                # The authority in memory is still good to sign with.
                self._renew_leaf()

    async def refresh(self) -> None:
        """Read the Secret, and renew what is due. Raises `KubeError`."""
        before = self._authority
        self._authority = await self._shared_authority()
        self.error = None
        self._renew_leaf()
        if before is not None and before.bundle != self._authority.bundle:
            log.info("the webhooks' CA bundle has changed")
            for listener in self._listeners:
                listener()

    async def _shared_authority(self) -> Authority:
        """The one that all processes share: if another was faster, this one takes its authority."""
        for _ in range(_ATTEMPTS):
            try:
                secret = await self._client.get(SECRETS, SECRET, self._namespace)
            except NotFound:
                with suppress(AlreadyExists):
                    return await self._created()
                continue
            with suppress(Conflict, NotFound, AlreadyExists):
                return await self._renewed(secret)
        raise KubeError(f"it changed between read and write, {_ATTEMPTS} times")

    async def _created(self) -> Authority:
        now = self._clock()
        wanted = (self._authority or new_authority(now)).renewed(now)
        await self._client.create(SECRETS, _secret(wanted, ""), self._namespace)
        return wanted

    async def _renewed(self, secret: Secret) -> Authority:
        now = self._clock()
        try:
            found = _authority_of(secret)
        except Unusable as error:
            wanted = (self._authority or new_authority(now)).renewed(now)
            await self._replace(secret, wanted, problem=str(error))
            return wanted
        if not found.is_due(now):
            return found
        wanted = found.renewed(now)
        await self._replace(secret, wanted)
        return wanted

    async def _replace(self, secret: Secret, wanted: Authority, *, problem: str = "") -> None:
        """`problem`: why the present one cannot be used."""
        meta = secret.metadata
        is_gone = False
        try:
            body = _secret(wanted, meta.resource_version)
            await self._client.update(SECRETS, body, SECRET, self._namespace)
        except Invalid:
            # Immutable, or of another type.
            await self._client.delete(
                SECRETS, SECRET, self._namespace, resource_version=meta.resource_version
            )
            is_gone = True
        if problem:
            self._report(secret, problem)
        if is_gone:  # another process may create the next one first
            await self._client.create(SECRETS, _secret(wanted, ""), self._namespace)

    def _report(self, secret: Secret, problem: str) -> None:
        self.replaced += 1
        text = f"Secret {self._namespace}/{SECRET} could not be used and was replaced: {problem}"
        log.warning("%s", text)
        if self._events is not None:
            reference = reference_to(SECRETS, secret.metadata)
            self._events.record(reference, "Warning", REPLACED, text)

    def _new_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._client_ca is not None:
            self._client_ca.require(context)
        if self._leaf is not None:
            _load(context, self._leaf)
        return context

    def _renew_leaf(self) -> None:
        authority = self._authority
        now = self._clock()
        if authority is None:
            return
        if self._leaf is not None and self._signer is not None and authority.has(self._signer):
            life = self._leaf.expires - self._leaf.made
            if now < self._leaf.made + min(LEAF_RENEWED_AFTER, life * 2 / 3):
                return
        self._leaf, self._signer = authority.sign(self._names, now)
        _load(self.context, self._leaf)
        log.info(
            "the webhooks' certificate is valid until %s",
            self._leaf.expires.isoformat("T", "minutes"),
        )


def _secret(authority: Authority, resource_version: str) -> dict[str, object]:
    metadata: dict[str, object] = {"name": SECRET, "labels": dict(WRITTEN_LABELS)}
    if resource_version:
        metadata["resourceVersion"] = resource_version
    data = {_BUNDLE: authority.bundle, _KEYS: authority.keys}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "Opaque",
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }


def _authority_of(secret: Secret) -> Authority:
    try:
        bundle, keys = (base64.b64decode(secret.data[name] or "") for name in (_BUNDLE, _KEYS))
    except (KeyError, ValueError) as error:
        raise Unusable(f"{_BUNDLE} or {_KEYS} is missing or not base64") from error
    return read_authority(bundle, keys)


def _load(context: ssl.SSLContext, leaf: Certified) -> None:
    """ssl reads files only. One in memory needs no writable disk, and leaves no key on it."""
    descriptor = os.memfd_create("leaf")
    try:
        os.write(descriptor, leaf.key + leaf.certificate)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
