"""The kubectl of a cluster, as its admin."""

import subprocess

from devcluster.cluster import Cluster


class Kubectl:
    def __init__(self, cluster: Cluster) -> None:
        self._command = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig)]

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        ran = subprocess.run(
            [*self._command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ran.returncode == code, ran.stderr
        warnings = [line for line in ran.stderr.splitlines() if line.startswith("Warning")]
        # A CRD that `--install` created has no last-applied annotation; kubectl adds it.
        assert all("last-applied-configuration" in line for line in warnings), warnings
        return ran.stdout

    def answer(self, *arguments: str) -> str:
        """Of a question whose exit code is the answer as well."""
        ran = subprocess.run(
            [*self._command, *arguments], capture_output=True, text=True, check=False, timeout=120
        )
        return ran.stdout.strip()

    def names(self, *arguments: str) -> list[str]:
        return self("get", *arguments, "--output=name", "--ignore-not-found").split()
