"""etcd, through its JSON gateway."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


class Etcd:
    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        # Never through a proxy: etcd is on loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def healthy(self) -> bool:
        with self._opener.open(f"{self.endpoint}/health", timeout=5) as answer:
            return bool(json.load(answer).get("health") == "true")

    def revision(self) -> int:
        return int(self._post("/v3/maintenance/status", {})["header"]["revision"])

    def compact(self) -> int:
        """Compact to the current revision; that revision."""
        revision = self.revision()
        try:
            self._post("/v3/kv/compaction", {"revision": revision, "physical": True})
        except urllib.error.HTTPError as error:
            with error:
                if b"has been compacted" not in error.read():
                    raise
        return revision

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(  # noqa: S310 - always http to loopback
            self.endpoint + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with self._opener.open(request, timeout=30) as answer:
            return json.load(answer)
