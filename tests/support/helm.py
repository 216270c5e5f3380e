"""helm, built from its pinned module."""

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from devcluster.build import ensure_binaries
from devcluster.pins import HELM

CHART = Path(__file__).parents[2] / "deploy/chart"
Json = dict[str, Any]


class HelmError(AssertionError):
    pass


class Helm:
    def __init__(self, kubeconfig: Path | None = None) -> None:
        """Without a kubeconfig it reaches no cluster."""
        self.program = ensure_binaries(toolset=HELM) / "helm"
        home = Path(tempfile.gettempdir()) / "intact-helm"
        self._environment = {
            # The API server is on loopback, where no proxy leads.
            **{k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")},
            "KUBECONFIG": str(kubeconfig or os.devnull),
            **{f"HELM_{kind}_HOME": str(home / kind) for kind in ("CACHE", "CONFIG", "DATA")},
        }

    def __call__(self, *arguments: str | Path, values: Json | None = None) -> str:
        """Raises HelmError, with what helm has said."""
        given: list[str | Path] = []
        if values is not None:
            given = ["--values", "-"]
        ran = subprocess.run(
            [self.program, *arguments, *given],
            input=msgspec.json.encode(values or {}).decode(),
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if ran.returncode != 0:
            raise HelmError(ran.stderr)
        return ran.stdout

    def template(
        self, values: Json, *, name: str = "intact", namespace: str = "intact-system"
    ) -> list[Json]:
        text = self("template", name, CHART, "--namespace", namespace, values=values)
        return [each for each in _documents(text) if each]


def _documents(text: str) -> list[Any]:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Plain texts that kubectl's and helm's reader takes for something else are none here."""

    Loader.add_implicit_resolver(_NO_TEXT, _NO_TEXT_IN_GO, None)
    Loader.add_constructor(_NO_TEXT, lambda _loader, node: (node.value,))
    return list(yaml.load_all(text, Loader=Loader))


_NO_TEXT = "!no-text"
_NO_TEXT_IN_GO = re.compile(r"^([yYnN]|[-+]?[0-9]+([eE][0-9]+)?)$")
