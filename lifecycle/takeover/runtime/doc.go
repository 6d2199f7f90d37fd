// Package runtime runs the program of a working tree on the workstation, in place
// of a workload's container, and keeps up with edits.
//
//	r, err := runtime.New(runtime.Config{Spec: spec, Store: store, …})
//	err = r.Run(ctx)                  // until ctx ends
//	conn, err := r.Dial(ctx, 8080)    // for each connection that the cluster makes
//
// New gives the Runtime of processes on this machine, on Linux and macOS (WSL2 is
// Linux). A Runtime of containers would be another implementation.
package runtime
