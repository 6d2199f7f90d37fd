// Package argocd runs Argo CD in a cluster that is already there: its repository server and its application controller,
// the redis that they share, and a Git server for what they fetch, each listening on the machine's loopback.
//
// All but the Git server are one program, that of the nested module internal/devcluster/argocd, which is several by the
// names that links give it. What Argo CD wants to find in the cluster is created from its own manifests: the custom
// resource definitions and, in the namespace argocd, its ConfigMaps and its Secret. The AppProject "default", which
// Argo CD's own API server makes otherwise, lets Applications do everything.
//
// The application controller looks at every Application each few seconds (see [Resync]) and heals itself as fast, and
// can be stopped, started, paused and resumed: see [Command]. When the process that called [Run] ends, in whatever way, its
// programs end with it.
package argocd
