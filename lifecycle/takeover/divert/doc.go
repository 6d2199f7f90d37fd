// Package divert replaces a container of a Deployment by the agent of a takeover, by
// one patch of values that Git declares, and puts it back.
//
//	d, refusals, warnings, err := divert.Plan(live, declared, "api", agentImage) // pure
//	w, err := divert.New(divert.Config{REST: config, Guard: held.Check})
//	more, hints, err := w.Examine(ctx, d)
//	err = w.DryRun(ctx, d)
//	err = w.Divert(ctx, d)
//	r, err := w.Restore(ctx, d)
//
// # The patch
//
// A JSON patch (RFC 6902) under the conditions that the object is the one that was
// planned with (metadata.uid, metadata.generation) and that each value is the one that
// is to be replaced. In the container it replaces
//
//	image                                          always: by the agent's image, by digest
//	command, args                                  where Git declares them
//	livenessProbe, readinessProbe, startupProbe    their exec.command, where Git declares it
//	lifecycle.postStart, lifecycle.preStop         their exec.command, where Git declares it
//
// and nothing else: nothing is added, and replicas, labels, ports, volumes, the service
// account and the other containers stay. So whatever puts back what Git declares undoes
// it. What the cluster has and Git does not declare is refused, since nobody would put
// it back.
//
// # Putting back
//
// Each field has three values: the one before, the agent's and the live one. What is
// still the agent's becomes the one before; what is neither somebody else has written
// since, and it is kept and named. Each is judged by itself: who set another image finds
// it with the command that Git declares. Images are known by their digests, wherever
// admission has them pulled from. Nothing is touched where the UID is another one, or
// the image the agent of another session.
//
// The values are written under the field manager pharos.takeover. A write takes
// its fields from everybody else in metadata.managedFields; the next delivery by
// server-side apply would be in conflict with them. So a second patch gives the fields
// back to who owned them in the original, and nothing is left of the takeover. A
// process that is killed between the two leaves a whole spec; the next Restore does the
// rest.
//
// # What happens at once
//
//   - A late diversion, on its way while it was put back already, does nothing: each
//     change of a Deployment's spec or annotations makes another generation.
//   - A diversion that is made again, since its process goes on after it was killed, is
//     left as it stands whatever else was changed, and what others have put back of it
//     is diverted again. Where they have put other values, ErrOverwritten names them.
//   - Whatever else changes those between the plan and the patch, an autoscaler for
//     example, makes it ErrChanged: it is planned again.
//   - After an answer that was lost the Deployment is read: what stands there counts.
//
// # What is looked at first
//
// Plan refuses, all at once: what is no Deployment; what has an owner, or a writer
// other than who delivers it; what is being rolled out, is paused or has no replicas;
// pods in the network of their node, on Windows, with a port of the node and no room to
// roll, or with a volume where the agent is; images that are not named by digest, or
// that no node pulls. Examine asks the cluster for autoscalers and disruption budgets,
// and has it try a pod of the agent's with admission and quota. Admission may add to
// pods, and have images pulled from a mirror; what puts another image in the agent's
// place is refused. What Plan and Examine
// warn of, happens: init containers run again, ephemeral volumes begin empty, an
// autoscaler goes by what the agents use. A PodDisruptionBudget does not hold a rollout
// up, which deletes pods and evicts none.
//
// # Rights
//
// In the Deployment's namespace:
//
//	rules:
//	- {apiGroups: [apps], resources: [deployments], verbs: [get, patch]}
//
// and, each of them only to be told more by Examine:
//
//   - {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list]}
//   - {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [list]}
//   - {apiGroups: [""], resources: [pods], verbs: [create]}
//
// Divert costs one API call, Restore five.
package divert
