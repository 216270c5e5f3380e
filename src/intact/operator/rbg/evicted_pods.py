"""What this process remembers of its evictions, because its stores may not have seen them yet.

A new leader starts with none of it: what was evicted before is in its stores.
"""

from collections.abc import Mapping


class EvictedPods:
    """UIDs of evicted pods that their Deployments have not been lowered by yet."""

    def __init__(self) -> None:
        self.by_deployment: Mapping[str, frozenset[str]] = {}
        """By the UID of the Deployment. Replaced by every change: what was read stays as it was."""

    def add(self, deployment: str, pod: str) -> bool:
        """Whether it is new."""
        known = self.by_deployment.get(deployment, frozenset())
        self.by_deployment = {**self.by_deployment, deployment: known | {pod}}
        return pod not in known

    def discard(self, deployment: str, pod: str) -> None:
        """Also if the Deployment was forgotten meanwhile."""
        if deployment in self.by_deployment:
            rest = self.by_deployment[deployment] - {pod}
            self.by_deployment = {**self.by_deployment, deployment: rest}

    def forget(self, deployment: str) -> None:
        self.by_deployment = {
            uid: pods for uid, pods in self.by_deployment.items() if uid != deployment
        }

    def forget_all(self) -> None:
        self.by_deployment = {}
