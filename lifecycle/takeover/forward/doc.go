// Package forward makes Services of the cluster reachable on loopback ports of a workstation: for a process that runs
// there in place of a workload, and for a browser.
//
//	f, err := forward.New(forward.Config{REST: config, Forwards: []forward.Forward{
//		{Service: "db", Namespace: "shop", Port: intstr.FromInt32(5432)},
//	}})
//	for _, a := range f.Addresses() {
//		fmt.Println(a.Service, a) // db 127.0.0.1:23511
//	}
//	err = f.Run(ctx) // until ctx ends
//
// # Ports
//
// The ports are bound by New, on 127.0.0.1 and, where there is IPv6, on ::1 alike, since "localhost" is either. One that was asked
// for and is in use is an error that names the process. Without one, the port follows from the Service's name and
// [Config].Owner as long as it is free, so that a browser finds its page, cookies and storage again: of 20000 to 29999.
//
// # Where connections go
//
// A connection goes to a ready pod behind the Service, by the API server's port-forward, so the pod sees it come from its own
// loopback. All connections of a forward go to one pod as long as that is ready, and to another one after it. While none
// is ready a connection waits for ten seconds, and is reset then. Only TCP can be forwarded, and only where the
// endpoints are pods: New or [Status].Err explain Services of other kinds.
//
// Streams of one port-forward hold each other up, so each connection has one of its own, up to 32; from then on they share.
//
// # What is noticed
//
// Every 30 seconds without traffic a connection is made to the pod's port and closed again, as a TCP probe does. What does not
// answer is shown in [Status], and tried anew until it does. A connection that was cut off is reset and not closed. A
// Service's server that ends its direction of a connection has the other one ended a second later: that is what
// container runtimes do.
//
// # Rights
//
// In each Service's namespace: get on services, list and watch on endpointslices (discovery.k8s.io), get and create on
// pods/portforward.
package forward
