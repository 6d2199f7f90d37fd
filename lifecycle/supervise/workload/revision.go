package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deploymentRevision is where the controller of Deployments counts their rollouts.
const deploymentRevision = "deployment.kubernetes.io/revision"

// revisionOf is the workload's revision of its pod template, empty as long as nobody
// has said it: that grows with each rollout for a Deployment and a DaemonSet, and is a
// name by the template for a StatefulSet.
func revisionOf(k Kind, o *unstructured.Unstructured) string {
	switch k {
	case Deployment:
		return o.GetAnnotations()[deploymentRevision]
	case DaemonSet:
		return o.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]
	}
	name, _, _ := unstructured.NestedString(o.Object, "status", "updateRevision")
	return name
}

// delivery joins a revision of the template and what was delivered.
func delivery(revision, delivered string) string {
	if revision == "" || delivered == "" {
		return revision
	}
	return revision + " of " + delivered
}
