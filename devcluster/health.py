"""Asks a component whether it is healthy."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request

from devcluster.components import ETCD, Layout
from devcluster.etcd import Etcd


def healthy(component: str, layout: Layout) -> bool:
    try:
        if component == ETCD:
            return Etcd(layout.etcd).healthy()
        context = ssl.create_default_context(cafile=str(layout.ca.certificate))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        with opener.open(layout.health(component), timeout=5):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except (OSError, http.client.HTTPException):
        return False
