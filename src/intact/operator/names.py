"""Names and ports of what Intact has in a cluster, and of its controllers."""

NAMESPACE = "intact-system"
OPERATOR = "intact"
LEASE = "intact"
WEBHOOK_SERVICE = "intact-webhook"
METRICS_SERVICE = "intact-metrics"
LABELS = {"app.kubernetes.io/name": "intact"}
"""By which everything of Intact is found and selected: they never change."""
WRITTEN_LABELS = {
    **LABELS,
    "app.kubernetes.io/component": "operator",
    "app.kubernetes.io/part-of": "intact",
    "app.kubernetes.io/managed-by": "intact",
}
"""Of what the operator itself writes. Without a version: replicas of two versions write it."""
HTTP_PORT = 8080
WEBHOOK_PORT = 9443

CONTROLLERS = ("pub", "pdb", "rbg", "disruption")
DEFAULT_CONTROLLERS = ("pub", "pdb", "rbg")
