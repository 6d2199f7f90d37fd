// Package testharness shows how tests get namespaces that end by themselves: with
// client-go, with controller-runtime's manager, and in a suite of envtest with Ginkgo.
// Each file stands for a project of its own; docs/test-harness.md explains them.
//
// It is a module of its own, so that Pharos itself requires none of what is shown here.
package testharness
