"""Names and ports of what Intact has in a cluster, and of its controllers."""

NAMESPACE = "intact-system"
OPERATOR = "intact"
LEASE = "intact"
WEBHOOK_SERVICE = "intact-webhook"
METRICS_SERVICE = "intact-metrics"
LABELS = {"app.kubernetes.io/name": "intact"}
HTTP_PORT = 8080
WEBHOOK_PORT = 9443

CONTROLLERS = ("pub", "pdb", "rbg", "disruption")
DEFAULT_CONTROLLERS = ("pub", "pdb", "rbg")
