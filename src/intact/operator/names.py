"""Names of what Intact has in a cluster."""

NAMESPACE = "intact-system"
OPERATOR = "intact"
LEASE = "intact"
WEBHOOK_SERVICE = "intact-webhook"
METRICS_SERVICE = "intact-metrics"
LABELS = {"app.kubernetes.io/name": "intact"}
