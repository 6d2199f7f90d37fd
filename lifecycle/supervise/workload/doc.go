// Package workload supervises Deployments, StatefulSets and DaemonSets within a
// restart budget, which is kept on the workload itself.
//
//	w, err := workload.New(workload.Config{Client: client, Kind: workload.Deployment, Namespace: "shop", Name: "api"})
//	s, err := supervise.New(supervise.Config{Thing: w, Store: w})
//	err = s.Run(ctx)
//
// # Failures and restarts
//
// A check fails when a pod of the workload has not been ready for longer than
// Config.Patience. Pods that are being deleted or have ended do not count, and those
// that are missing are the business of the workload's controller. What the workload
// owns is found by owner and not by label.
//
// A restart deletes the pods that fail, and only those, each under the condition that
// it is the pod that was seen, unchanged. The workload's controller replaces them. It
// is not what kubectl rollout restart does, an annotation on the pod template: that is
// a change of what is declared, which shows as drift or is undone; it replaces the pods
// that are well, too; and it is a rollout, which is how a new delivery is told. Nor is
// it an eviction, which a disruption budget refuses just where pods are unready:
// deleting them takes nothing from who is served.
//
// # What is kept
//
// Two annotations on the workload, which stand for nothing that Git declares:
//
//	pharos.dev/parked          why it is not restarted any more
//	pharos.dev/restart-budget  the counts, as supervise.Encode writes them
//
// Both are written in one patch under the condition that the object is what was read
// (UID and resourceVersion), and removed when there is nothing to say. A workload that
// is healthy and was not restarted has neither.
//
// They are for people, too. Who removes pharos.dev/parked has it supervised again,
// with a full budget; who sets it parks the workload, with that reason, until the next
// delivery:
//
//	kubectl annotate deployment/api pharos.dev/parked-
//	kubectl annotate deployment/api pharos.dev/parked="ada looks at it"
//
// Parking does nothing else. The pods stay as they are, and kubelet goes on with their
// containers in its own pace; replicas are declared, and are not touched.
//
// # Deliveries
//
// A new delivery is a new revision of the pod template, by the word of the workload's
// controller, and what Config.Delivery says. A change of replicas is none: an
// autoscaler would refill the budget again and again. So metadata.generation would not
// serve, which for a Deployment even grows with the annotations above. For a Deployment it is the
// revision in deployment.kubernetes.io/revision, which also grows when an earlier
// template is rolled back to. The controller of Deployments copies annotations to the
// ReplicaSet, and kubectl rollout undo copies them back: a state that comes back so is
// of another revision, and is not heeded.
//
// # Many workloads
//
// A Group supervises all workloads of some namespaces that ask for it by a label:
//
//	metadata: {labels: {pharos.dev/supervise: "true"}}
//
// It lists them anew in each round, and keeps nothing between two rounds. With
// GroupConfig.Left it leaves those of a target alone that is somebody's just now.
//
// # Rights
//
// In the workload's namespace, for a Deployment:
//
//	rules:
//	- {apiGroups: [apps], resources: [deployments], verbs: [get, patch]}
//	- {apiGroups: [apps], resources: [replicasets], verbs: [list]}
//	- {apiGroups: [""], resources: [pods], verbs: [list, delete]}
//
// Others need no replicasets. A Group needs to list each of deployments, statefulsets
// and daemonsets, too. A check of a Deployment costs three API calls, of the
// others two, and one to read the state.
package workload
