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
// Everything here fails the test that calls it when it cannot do its work.
package devtest
