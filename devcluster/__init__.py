"""A real Kubernetes in one command, for development and tests."""

from devcluster.cluster import Cluster
from devcluster.errors import ApiError, BuildError, ComponentError, DevclusterError

__all__ = ["ApiError", "BuildError", "Cluster", "ComponentError", "DevclusterError"]
