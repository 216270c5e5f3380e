"""Namespace."""

from intact.model.base import View
from intact.model.meta import ObjectMeta


class NamespaceStatus(View):
    phase: str = ""


class Namespace(View):
    metadata: ObjectMeta
    status: NamespaceStatus = NamespaceStatus()
