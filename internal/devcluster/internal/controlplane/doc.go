// Package controlplane runs the parts of a Kubernetes control plane in this process, each the real program's own
// package: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and a hollow node that kwok plays.
//
// The programs are configured by their own flags, parsed by their own flag sets, so that whoever knows Kubernetes can
// read what is set. Their commands are not used: those install signal handlers of their own, which end one part
// and leave the others.
//
// Its tests are those of internal/devenv in the main module, which run the whole program: a test here would have to
// compile all of Kubernetes once more, with the race detector.
package controlplane
