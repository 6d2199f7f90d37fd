// Package pharos is the overview of Pharos, a library and a kubectl plugin for
// Kubernetes targets on which half of what runs is meant to keep existing and
// half is meant to end. It holds no code.
//
// A reconciler cannot tell a deliberate deletion from a failure, because a
// declaration has no tense. So everything on a target gets an owner and, where
// it is not meant to last, an end. This version covers what is declared and
// durable: what Git delivers.
//
//	pharos.yaml ──catalogue──▶ fingerprints ──build──▶ digests ─┐
//	   commit                                                   ├──render──▶ receipt ──deliver──▶ target
//	kustomize overlay ──────────────────────────────────────────┘              │                    │
//	                                                                        applied ◀──── lease ────┤
//	                                                                         live   ◀──── healthy ──┘
//
// # Packages
//
//   - catalogue says what is built from what: patterns, pruned trees,
//     fingerprints, the class of a change. It links no Kubernetes code.
//     catalogue/source reads Git trees.
//   - receipt is the record of what was asked for, and the outcomes beside it.
//     receipt/dir and receipt/kube store them, receipt/receipttest is the suite
//     that both pass.
//   - lease says who may write to a target, and until when.
//   - lifecycle is the order of things: Reconcile and Status, and the interfaces
//     that they need.
//   - lifecycle/build/golang builds Go programs, lifecycle/registry holds
//     images, lifecycle/render renders kustomize overlays from a Git tree,
//     lifecycle/deliver/apply applies objects and waits for their health.
//   - lifecycle/supervise restarts what is not healthy within a budget, and then
//     parks it.
//   - lifecycle/standard puts the usual set together.
//   - kubectl-pharos is the plugin: flags in, one library call, printing out.
//
// Dependencies point one way: kubectl-pharos → lifecycle/… → lifecycle →
// {catalogue, receipt, lease}, and these three do not import each other. No
// package prints, exits, reads flags or the environment, or keeps global state;
// what they need comes in through configuration.
package pharos
