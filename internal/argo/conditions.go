package argo

import "strings"

// reported judges what an Application reports of itself. What it reported before
// it was asked to look again says nothing.
func reported(a *Application, _ Want, v *Verdict) bool {
	if a.RefreshAsked() {
		return true
	}
	for _, c := range a.Status.Conditions {
		switch c.Type {
		case "InvalidSpecError":
			return v.failed(Failed, FaultSpec, "it is not allowed: %s", c.Message)
		case "ComparisonError":
			v.Need = NeedRefresh
			return comparison(v, c.Message)
		case "UnknownError":
			return v.failed(Stale, FaultCluster, "the controller failed: %s", c.Message)
		}
	}
	return true
}

// comparison tells a Git server's errors from those of the manifests and of the
// cluster. Argo CD has no types for them, only words: those that stand in the
// errors of its Git client, of git itself, and of net.
func comparison(v *Verdict, message string) bool {
	text := strings.ToLower(message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	fail := func(s State, f Fault, what string) bool {
		v.State, v.Fault, v.Reason = s, f, what+": "+strings.Join(strings.Fields(message), " ")
		return false
	}
	switch {
	case has("failed to load live state", "failed to get cluster", "cluster cache", "failed to load initial state"):
		return fail(Stale, FaultCluster, "Argo CD does not reach what it delivers to")
	case has("kustomize build", "kustomization", "accumulating resources", "failed to unmarshal manifest", "app path does not exist"):
		return fail(Failed, FaultManifests, "its manifests cannot be generated")
	case has("authentication required", "authorization failed", "permission denied", "invalid credentials", "knownhosts", "could not read username", "repository not found", "403"):
		return fail(Failed, FaultRepository, "the Git server does not let Argo CD in")
	case has("unable to resolve", "not our ref", "couldn't find remote ref", "unadvertised object", "reference not found", "not a tree", "bad object", "failed to checkout"):
		return fail(Failed, FaultRepository, "the Git server does not give Argo CD the commit")
	case has("connection refused", "no such host", "i/o timeout", "deadline exceeded", "connection reset", "unavailable", "eof", "failed to fetch", "failed to list refs", "dial tcp", "returned error: 5"):
		return fail(Stale, FaultRepository, "the Git server or Argo CD's repository server does not answer")
	}
	return fail(Failed, FaultManifests, "it cannot be compared")
}
