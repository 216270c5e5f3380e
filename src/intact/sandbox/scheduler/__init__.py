"""What kube-scheduler does: each pending pod gets the node that suits it best, or is told why none
does.

All but `scheduler` is pure: facts about nodes and pods in, a decision out.
"""
