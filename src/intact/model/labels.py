"""The grammar of labels, as Kubernetes has it."""

import re

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_KEY = re.compile(rf"(?:(?P<prefix>{_DNS}(\.{_DNS})*)/)?{_NAME}")
_VALUE = re.compile(rf"({_NAME})?")
_DNS_LABEL = re.compile(_DNS)
_LONGEST_PREFIX = 253

ROLE_BASED_GROUP = "rolebasedgroup.workloads.x-k8s.io/name"
"""Label on everything that belongs to a RoleBasedGroup: its name."""
BATCH = "batch.coordination.workloads.x-k8s.io/"
"""Prefix of a label on pods; the value is the number of the pod's batch."""
BATCH_SIZE = "intact.dev/batch-size"
"""Annotation on pods in a batch: how many pods the batch has, of all roles."""


def is_label_key(key: str) -> bool:
    match = _KEY.fullmatch(key)
    return match is not None and len(match["prefix"] or "") <= _LONGEST_PREFIX


def is_label_value(value: str) -> bool:
    return _VALUE.fullmatch(value) is not None


def is_dns_label(name: str) -> bool:
    """Of any length: how long a name may be depends on what is named after it."""
    return _DNS_LABEL.fullmatch(name) is not None
