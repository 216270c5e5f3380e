"""Asking through the API server whether it asks us.

A registration takes effect some time after it was written. A request that only a gate of ours would
refuse, sent as a dry run, tells whether it has: the refusal carries the cause `CAUSE`.
"""

NAME = "intact-probe"
"""Of a pod that does not exist, and of the field manager of a status write."""
CAUSE = "IntactProbe"
MESSAGE = "the gate is here"
