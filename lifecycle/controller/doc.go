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
// # Tasks
//
// While it leads it runs its tasks, side by side. They end with the leadership: the
// lease is given back when all of them have, so that those of the next leader begin
// later. A leader that loses its lease ends them, too, but another one may lead by
// then. A task that ends by itself is run again after a pause. What fails again and
// again is logged once, and once more when it is over.
//
// # Watchdogs
//
// A watchdog is a task that looks after the lease of one target: see
// lease.Manager.Watch. Once a minute, and right after the end of a lease, it has
// the lease's gate opened for holders that are gone, which includes what the gate
// needs so that what was covered becomes as it is declared. It tells each thing
// once: what it opened (info), what is not yet as it is declared (info), and what
// did not become so (warn), since it failed or since that takes longer than five
// minutes; with Config.Events the first and the last are Events on the Lease, too.
//
// A watchdog decides nothing by what an earlier pass saw, so that a new leader goes
// on where the last one was killed. While nothing is to do a pass of a target
// costs one API call, and those of its gate's Sweep: with lease/argocd one more.
//
// # Takeovers
//
// The task of a Takeover ends sessions of lifecycle/takeover whose holder is gone: see
// package restore there. It tells once what became of each workload, and with
// Config.Events records an Event on the Lease. While nothing is taken over a pass costs
// one API call.
//
// # Sweep
//
// The sweep is the task that ends what is transient and past its end, see package
// reaper/sweep. With Config.Sweep nil, which it is by default, nothing ends.
//
// # Restart budgets
//
// Supervise is a task that restarts workloads which ask for it within a budget, see
// package lifecycle/supervise/workload. What a target delivers that somebody has
// borrowed or maintains, by its lease, is left alone meanwhile.
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
//	            pharos_task_running{task}            1 while this replica runs it
//	            pharos_task_failures_total{task}     how often it ended by itself
//
// and for each watchdog, with the labels namespace and target,
//
//	pharos_lease_held{mode}                        1 for the mode in which the lease is held
//	pharos_lease_left_seconds                      how long it lasts, +Inf without an end
//	pharos_lease_pending                           what leases covered and is not yet as it is
//	                                               declared
//	pharos_lease_not_converged_total               what did not become so
//	pharos_lease_gates_opened_total                what was left closed and was opened
//	pharos_lease_watch_failures_total              passes that failed
//	pharos_lease_watch_success_timestamp_seconds   when one succeeded last
//
// for each Takeover, with the same labels,
//
//	pharos_takeover_workloads                        how many workloads may be taken over
//	pharos_takeover_over                             1 while a takeover is over and not yet ended
//	pharos_takeover_restored_total{outcome}          what became of workloads
//	pharos_takeover_watch_failures_total             passes that failed
//	pharos_takeover_watch_success_timestamp_seconds  when one succeeded last
//
// and of the sweep
//
//	pharos_sweep_objects{resource,class}    what says that it ends: waiting, refused, owned,
//	                                        terminating, stuck
//	pharos_sweep_oldest_timestamp_seconds   when the oldest of them was created
//	pharos_sweep_failing                    what could not be ended at the last try
//	pharos_sweep_gap{what}                  1 for what is not seen
//	pharos_sweep_ends_total{result}         what became of objects at their end
//	pharos_sweep_lateness_seconds           a histogram: how long after its end each was deleted
//
// and of Supervise
//
//	pharos_supervise_workloads                        how many workloads are supervised
//	pharos_supervise_parked{namespace,kind,name}      1 for each that is restarted no more
//	pharos_supervise_restarts_total                   how often one was restarted
//	pharos_supervise_failures_total                   what could not be looked at or restarted
//
// Of these the leader alone has those that are no totals and no histogram.
//
// # Rights
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	rules:
//	- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
//	- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, update], resourceNames: [NAME]}
//
// The sweep needs to get, list, watch and delete what it is to end; to create Events,
// see below, wherever that is; to end namespaces also to patch them, and to list what
// can be in them; and with a warning before the end to patch everything.
//
// A watchdog needs to get the Lease of its target, and what the gate's Sweep needs;
// LeaseEvents needs that, too, and
//
//	rules:
//	- {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
package controller
