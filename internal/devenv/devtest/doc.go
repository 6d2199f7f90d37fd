// Package devtest gives tests a real cluster, a real registry, and what they need around them.
//
//	func TestApply(t *testing.T) {
//		t.Parallel()
//		c := devtest.Cluster(t)
//		ns := devtest.Namespace(t, c)
//		...
//	}
//
// Each test process has one cluster, started by the first test that asks for it (see internal/devenv) and gone when the
// process ends, however it ends; no TestMain is needed. Where the environment variable PHAROS_TEST_CONTEXT names a
// context of the user's kubeconfig, that cluster is used instead; the current context never is.
//
// Where pods have to run, [Node] gives a cluster with a real node, which the tests of the process share too. There is one on
// a machine at a time, so a process that has it keeps others waiting until it ends: such tests belong in few packages.
// What it needs is Linux, root and some Debian packages; where they are missing the test is skipped with the reason, and
// fails with CI=true. It is always one of its own, also with PHAROS_TEST_CONTEXT.
//
// [ArgoCD] gives the cluster a real Argo CD, with a Git server for what it delivers; [NodeArgoCD] does so beside the real
// node. It needs git with its git-http-backend, and nothing else.
//
// Everything else here fails the test that calls it when it cannot do its work.
package devtest
