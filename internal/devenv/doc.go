// Package devenv starts a real Kubernetes control plane for tests, examples and benchmarks, and hands back a
// *rest.Config for it. Nothing but Go is needed on the machine.
//
// The cluster is the program of the nested module internal/devcluster: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and a hollow node in one process. It is built once per version ([Build]; cold this takes minutes, so
// build it with progress before a test run) and is ready some seconds after [Start].
//
//	cluster, err := devenv.Start(ctx, devenv.Options{Output: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer cluster.Stop()
//	client, err := kubernetes.NewForConfig(cluster.Config())
//
// # What is real, and what is not
//
// API server (with RBAC and admission), storage, controllers, garbage collection and scheduling are the real programs.
// The node is hollow: pods are scheduled to it and reach Running, Ready and (of a Job) Succeeded, but no container
// ever runs, no image is pulled, and there are no logs, no exec and no cluster network. Pods that do not fit stay
// Pending with the scheduler's own message.
//
// [StartNode] starts a cluster with a real node instead, on Linux as root: kubelet, containerd, kube-proxy and CoreDNS,
// with a registry and a Git server beside them. All of it runs in process, mount, network and cgroup namespaces of its own,
// and is reached through the machine's loopback.
//
// [StartArgoCD] runs a real Argo CD beside either of them, with a Git server that it fetches from.
//
// # What is left behind
//
// Nothing. The process holds a pipe from the one that started it, and ends when that one ends, however it ends; its
// state folder goes with it. What a hard kill of the cluster's own process leaves is removed by the next start; of a real
// node these are cgroups and a folder, since the system kills all else with the first process of its namespace.
//
// An existing cluster is used only where it is named: see [Existing].
package devenv
