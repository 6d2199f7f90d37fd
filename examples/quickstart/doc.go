// Command quickstart tells a story of about a minute about a shop that Pharos
// delivers: three Go services, a library that two of them share, a website that is built
// from a Dockerfile, and a target.
//
//	go run ./examples/quickstart
//
// It starts a Kubernetes control plane of its own (the first run builds it, which
// takes some minutes) and a registry in this process, and removes both at the
// end. The control plane's only node is hollow: pods are scheduled and become
// ready, but they do not really run. The Dockerfile is built by a BuildKit of its own,
// where one can run: on Linux, as root, with runc. Elsewhere the story says what is
// missing and goes on without the website.
//
// With --argocd, a real Argo CD beside the control plane delivers the shop: the first
// run builds that, too, which takes some minutes more.
//
// With --takeover the story is another one, on a cluster with a real node, which needs
// Linux and root: an edit that nobody has committed answers the cluster's traffic from
// this machine, and is handed back.
//
// On a cluster of yours, pods do run. It needs a registry that both sides reach:
//
//	go run ./examples/quickstart --context kind-dev --registry localhost:5000/shop \
//		--registry-pull registry.local:5000/shop --registry-insecure
//
// There the shop gets two namespaces with new names, which are deleted at the end.
// With --stay everything is left up until Ctrl-C, to look around in.
//
// Nothing in it is scripted: whatever it prints about a step comes from what
// happened, and a step that does not turn out as the story says ends it with an
// error and exit code 1. The code shows how a program embeds Pharos: deliver.go
// is all that it takes, and takeover.go shows a takeover.
package main
