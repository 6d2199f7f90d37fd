// Package controller is the process of a target that runs in its cluster: it
// serves health, readiness and metrics, and elects one leader among its replicas.
//
//	c, err := controller.New(controller.Config{Lease: leases, Identity: pod, Version: "v1.2.0"})
//	go http.Serve(listener, c.Handler())
//	err = c.Run(ctx) // until ctx ends
//
// # Leadership
//
// The leader holds a lease of package lease in mode deliver, with the rules about
// time that stand there. A leader whose process is killed is followed when its
// lease has ended, and one that ends gives it back, so that the next one leads at
// once. A leader that has lost its lease stands by again.
//
// # What is served
//
//	/healthz  200 while the process runs
//	/readyz   200 while it leads, or knows who does; 503 while it cannot tell
//	/metrics  in the text format of Prometheus: those of Go and of the process, and
//	            pharos_build_info{version}           1
//	            pharos_controller_leader             1 while it leads, else 0
//	            pharos_controller_elections_total    how often it became leader
//	            pharos_controller_failures_total     how often the lease could not be reached
//
// # Rights
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	rules:
//	- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
//	- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, update], resourceNames: [NAME]}
package controller
