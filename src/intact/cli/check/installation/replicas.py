"""Whether the replicas of the Deployment are ready, and of one version.

Intact may also run outside of the cluster: then there is no Deployment, and only its Lease and its
webhooks tell of it.
"""

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import Line, fail, not_asked, ok, skip, warn
from intact.model.listing import listed
from intact.model.pod_state import is_ready, is_terminating

NAME = "replicas"
VERSIONS = "versions"
_OUTSIDE = "there is no Deployment: Intact runs outside of the cluster"


def replicas(found: Found) -> Line:
    if found.deployment is None:
        if error := found.unread.get("deployments"):
            return not_asked(NAME, error)
        return skip(NAME, _OUTSIDE)
    meta, spec = found.deployment["metadata"], found.deployment["spec"]
    status = found.deployment.get("status") or {}
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
    told = f"{ready} of {wanted} ready (Deployment {meta['namespace']}/{meta['name']})"
    if ready == 0:
        return fail(NAME, f"{told}: while none is, pods with a budget cannot go")
    if ready < wanted:
        waiting = [pod.metadata.name for pod in found.pods if not is_ready(pod)]
        return warn(NAME, f"{told}: not {listed(sorted(waiting))}")
    if wanted < 2:
        return warn(NAME, f"{told}: with one replica, its own restart holds up every eviction")
    return ok(NAME, told)


def versions(found: Found) -> Line:
    if found.deployment is None:
        return skip(VERSIONS, _OUTSIDE)
    images = sorted(
        {
            container.image
            for pod in found.pods
            if not is_terminating(pod)
            for container in pod.spec.containers
        }
    )
    if not images:
        return skip(VERSIONS, "there are no pods")
    template = found.deployment["spec"]["template"]["spec"]["containers"]
    wanted = sorted({container.get("image", "") for container in template})
    if images == wanted:
        return ok(VERSIONS, f"all replicas run {listed(images)}")
    return warn(
        VERSIONS, f"replicas run {listed(images)}, and the Deployment wants {listed(wanted)}"
    )
