"""Kubeconfig files with all certificates inlined, so that a copy works anywhere."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from devcluster.certificates import KeyPair


def write_kubeconfig(path: Path, server: str, ca: Path, client: KeyPair) -> None:
    """Written as JSON, which is YAML too: no YAML library is needed."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "devcluster",
                "cluster": {"server": server, "certificate-authority-data": _inline(ca)},
            }
        ],
        "users": [
            {
                "name": "devcluster",
                "user": {
                    "client-certificate-data": _inline(client.certificate),
                    "client-key-data": _inline(client.key),
                },
            }
        ],
        "contexts": [
            {"name": "devcluster", "context": {"cluster": "devcluster", "user": "devcluster"}}
        ],
        "current-context": "devcluster",
    }
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file, indent=2)


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
