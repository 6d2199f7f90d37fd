package standard

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Controller prepares the Deployment of a target's controller, and its account with
// the verbs that it uses and no others. It watches the target's lease, restarts delivered
// workloads that ask for it within a budget, and does what the target asks for: see
// lifecycle/controller.
type Controller struct {
	// Image has kubectl-pharos as its entry point. If it is empty, it is that of
	// Installed.
	Image string
	// Installed returns the image of the controller that the target has already, empty if
	// it has none: then nothing is prepared. So what a controller does, and its rights,
	// follow what is delivered. The default is none.
	Installed func(ctx context.Context, r lifecycle.PrepareRequest) (image string, err error)
	// ArgoCD delivers the target, and is what leases in mode borrow close; nil if
	// something else does.
	ArgoCD *ArgoCDDeliver
	// Asked is what the target asks for beside that.
	Asked TargetController
}

var _ lifecycle.Preparer = Controller{}

// controllerContainer is the container that has the controller's image.
const controllerContainer = "controller"

// Prepare returns one step, or none where no controller is to be and none is installed.
func (c Controller) Prepare(ctx context.Context, r lifecycle.PrepareRequest) (_ []lifecycle.PrepareStep, err error) {
	if c.Image == "" && c.Installed != nil {
		if c.Image, err = c.Installed(ctx, r); err != nil || c.Image == "" {
			return nil, err
		}
	}
	name := controllerOf(r.Target)
	labels := map[string]string{"app.kubernetes.io/name": "pharos-controller", "app.kubernetes.io/instance": name}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("health")}}}
	}
	args := []string{"controller", "--health-address=:8081", "--leader-lease=" + r.Namespace + "/" + LeaderLease(r.Target), "--watch-target=" + r.Namespace + "/" + r.Target}
	if c.ArgoCD != nil {
		args = append(args, "--argocd-namespace="+c.ArgoCD.Namespace)
	}
	objects := append([]any{account(r.Namespace, name)}, c.rights(r)...)
	asked, err := c.asked(r)
	if err != nil {
		return nil, err
	}
	args, objects = append(args, asked.args...), append(objects, asked.rights...)
	objects = append(objects, &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta(r.Namespace, name),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: name,
					SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
					Containers: []corev1.Container{{
						Name: controllerContainer, Image: c.Image,
						Args:           args,
						Ports:          []corev1.ContainerPort{{Name: "health", ContainerPort: 8081, Protocol: corev1.ProtocolTCP}},
						LivenessProbe:  probe("/healthz"),
						ReadinessProbe: probe("/readyz"),
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
							Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
						},
						SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
							Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
					}},
				},
			},
		},
	})
	apply, err := objectsOf(objects...)
	if err != nil {
		return nil, err
	}
	return []lifecycle.PrepareStep{{Name: "controller", Apply: apply}}, nil
}
