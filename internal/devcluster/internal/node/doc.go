// Package node runs a cluster with a real node: the control plane, kubelet, containerd, kube-proxy, CoreDNS, a registry
// and a Git server, in process, mount, network and cgroup namespaces of their own.
//
// Four processes of this program are behind it:
//
//   - [Keep] is the one that was started. It stays in the machine's namespaces, holds the machine's lock (there is one
//     node at a time), opens the sockets on the machine's loopback, starts the next one, and removes what is left
//     when that has ended.
//   - [Init] is the first process of the new namespaces. It mounts what has to be private, joins the node's cgroups, makes
//     the network, starts the last one, and collects orphans.
//   - [Run] is the control plane, and starts the programs of the node. What it serves it serves both on the
//     machine's loopback, at the sockets that it inherited, and on the node's address.
//   - [APIServer] is the API server, a process of its own so that it can be killed.
//
// A [Command] goes down from Keep over the standard inputs to Run, and its [Answer] comes back on the standard output.
//
// When the first process of a process namespace ends, the system kills all others in it; with the last of them go its
// mounts, and with its network namespace all links, addresses and tables. Init is killed when Keep ends, however
// that ends. So nothing is left but cgroups without processes and the state folder; the next start removes these.
package node
