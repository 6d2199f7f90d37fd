// Package workstation runs the workloads of a takeover on this machine, and puts together
// what a takeover of a target needs.
//
//	config, err := workstation.Takeover(workstation.TakeoverConfig{Target: target, Options: options, Repository: repo, Output: output})
//	session, err := takeover.New(config)
//
// # What a process gets
//
// A process has the ports of its Services first (package forward), then its environment
// (package environment), and then it is started (package runtime). When it listens it
// is ready, and what the agents of its workload accept is connected to it (package
// tunnel). Of this machine's own environment it gets what programs are found by and
// what says who and where the user is, and nothing else: [Inherited].
//
// What it prints goes to Config.Output without the secrets that it was given.
//
// # What is left
//
// When a process is stopped nothing of it is: no process, no forward, no file. What a
// kill leaves of its files is wiped by whatever goes on with the session, or hands it back.
package workstation
