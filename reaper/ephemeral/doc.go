// Package ephemeral gives tests namespaces that end, also when the test's process does
// not come to its cleanup: what Ryuk is for Docker.
//
//	func TestShop(t *testing.T) {
//		ns := ephemeral.Namespace(t, restConfig, ephemeral.Options{})
//		…
//	}
//
// The namespace says that it is transient, with a TTL (see the package reaper), and who
// made it: the test, the process and the host. While the test runs, heartbeats say that
// it is in use, by the API server's clock. At the test's end it is deleted. If the
// process was killed, the heartbeats are missing, and when the TTL has passed it is
// deleted by whoever comes first: the next test of any process that asks for a
// namespace, or a controller that sweeps (kubectl pharos controller, kubectl pharos
// reap).
//
// It does not import package testing, and knows no framework: [TB] is what *testing.T
// and GinkgoT() both are. [Open] is for what is no test, such as a TestMain.
//
// # What is swept
//
// The first thing that a call does is to look for namespaces that this package made and
// that are past their end. They are ended beside the test, one after another, and the
// cleanup waits until that is done. It is what reaper/sweep does for any object: a fresh
// look, the decision of [reaper.Rules], for a namespace a look at all that is in it, and
// a deletion with UID and resource version as preconditions. A namespace that holds what
// is meant to outlive it is left alone and named in the log. At the end of its own test
// a namespace goes with all that is in it.
//
// # API calls
//
//	a namespace                    3: list, create, delete
//	                               and 1 for each quarter of the TTL that the test takes,
//	                               with the first one 1 for the server's time
//	waiting until it is gone       1 every 0.1 to 2 s
//	each leftover that is ended    some 65 on a plain cluster: two looks at all that is in it
//
// Lists are of metadata, chosen by label, and the server answers them from memory.
//
// # Rights
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: ClusterRole
//	rules:
//	- apiGroups: [""]
//	  resources: [namespaces]
//	  verbs: [create, get, list, patch, delete]
//	- apiGroups: ["*"]      # to look into leftovers before they are ended
//	  resources: ["*"]
//	  verbs: [list]
//
// Without the second rule leftovers stay until somebody ends them who may look.
//
// # What this cannot prevent
//
//   - A process that stands still for longer than the TTL, at a debugger's breakpoint or
//     in a laptop that sleeps, loses its namespace.
//   - What a test makes outside of its namespaces stays, unless it says itself that it is
//     transient.
//   - An API server without controllers, such as that of envtest, ends no namespace: it
//     is marked as being deleted and stays so.
package ephemeral
