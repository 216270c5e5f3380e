"""The few API calls that devcluster makes itself, with the admin's client certificate."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from devcluster.certificates import KeyPair
from devcluster.errors import ApiError

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


class Api:
    """JSON in, JSON out. Each call opens a connection: a restarted server does no harm."""

    def __init__(
        self, server: str, ca: Path, client: KeyPair | None = None, token: str | None = None
    ) -> None:
        parts = urlsplit(server)
        self._host = parts.hostname or ""
        self._port = parts.port
        self._context = ssl.create_default_context(cafile=str(ca))
        if client is not None:
            self._context.load_cert_chain(client.certificate, client.key)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def create(self, path: str, body: object) -> Any:
        return self.call("POST", path, body)

    def patch(self, path: str, body: object, content: str = MERGE_PATCH) -> Any:
        return self.call("PATCH", path, body, content)

    def delete(self, path: str) -> Any:
        return self.call("DELETE", path)

    def call(
        self, method: str, path: str, body: object = None, content: str = "application/json"
    ) -> Any:
        """Raises ApiError if the answer is an error, OSError if there is no answer."""
        with self._send(method, path, body, content) as response:
            answer = response.read()
        is_json = (response.getheader("Content-Type") or "").startswith("application/json")
        return json.loads(answer) if is_json else answer.decode()

    def watch(self, path: str) -> Iterator[Any]:
        """The events of a watch. `timeoutSeconds` in the path ends it; otherwise the server does,
        much later."""
        with self._send("GET", path, None, "application/json") as response:
            for line in response:
                yield json.loads(line)

    @contextmanager
    def _send(
        self, method: str, path: str, body: object, content: str
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPSConnection(
            self._host, self._port, context=self._context, timeout=60
        )
        try:
            connection.request(
                method,
                path,
                None if body is None else json.dumps(body),
                {"Content-Type": content, "Accept": "application/json", **self._headers},
            )
            with connection.getresponse() as response:
                if response.status >= 400:
                    raise _error(response.status, response.reason, response.read())
                yield response
        except http.client.HTTPException as error:
            raise ConnectionError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()


def _error(status: int, reason: str, answer: bytes) -> ApiError:
    try:
        found = json.loads(answer)
        return ApiError(status, found.get("reason") or reason, found.get("message") or "")
    except (ValueError, AttributeError):
        return ApiError(status, reason, answer.decode(errors="replace").strip())
