package divert

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Examine looks at what the cluster has beside the Deployment: autoscalers and
// disruption budgets, and whether it would accept one of the agent's pods, which the
// API server tries with its admission and writes nothing. What it may not look at is a
// warning. Three API calls.
func (w *Writer) Examine(ctx context.Context, d Diversion) ([]Refusal, []Warning, error) {
	o, err := parse("as it was planned", d.Original)
	if err != nil {
		return nil, nil, err
	}
	p := &plan{Subject: d.Subject, live: o}
	for _, look := range []func(context.Context, *plan) error{w.autoscalers, w.budgets, func(ctx context.Context, p *plan) error { return w.pod(ctx, p, d) }} {
		if err := look(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	return p.refusals, p.warnings, nil
}

// autoscalers looks at those of the Deployment.
func (w *Writer) autoscalers(ctx context.Context, p *plan) error {
	var list autoscalingv2.HorizontalPodAutoscalerList
	if known, err := w.list(ctx, p, autoscalingv2.SchemeGroupVersion, autoscalingv2.AddToScheme, "horizontalpodautoscalers", &list); !known {
		return err
	}
	for _, a := range list.Items {
		if a.Spec.ScaleTargetRef.Kind != "Deployment" || a.Spec.ScaleTargetRef.Name != p.Name {
			continue
		}
		if ptr.Deref(a.Spec.MinReplicas, 1) == 0 {
			p.refuse("Let its minReplicas be 1 or more for as long as it is taken over.", "HorizontalPodAutoscaler %s/%s scales %s down to no pod, which an idle agent is", a.Namespace, a.Name, p.Subject)
			continue
		}
		if keda := a.Labels["scaledobject.keda.sh/name"]; keda != "" {
			p.warning("ScaledObject %s/%s scales %s, down to no pod if its minReplicaCount is 0: nobody is served meanwhile", a.Namespace, keda, p.Subject)
			continue
		}
		p.warning("HorizontalPodAutoscaler %s/%s goes by what the agents use, and not by what the process on the workstation does: it will scale down", a.Namespace, a.Name)
	}
	return nil
}

// budgets looks at those of the pods. A rollout does not ask them: it deletes pods, and
// evicts none.
func (w *Writer) budgets(ctx context.Context, p *plan) error {
	var list policyv1.PodDisruptionBudgetList
	if known, err := w.list(ctx, p, policyv1.SchemeGroupVersion, policyv1.AddToScheme, "poddisruptionbudgets", &list); !known {
		return err
	}
	for _, b := range list.Items {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(p.live.Spec.Template.Labels)) {
			p.warning("PodDisruptionBudget %s/%s does not hold the rollout up, and counts agents as pods that are well", b.Namespace, b.Name)
		}
	}
	return nil
}

// list lists objects of the Deployment's namespace. It says whether it may.
func (w *Writer) list(ctx context.Context, p *plan, gv schema.GroupVersion, add func(*runtime.Scheme) error, resource string, into runtime.Object) (bool, error) {
	client, err := kubeclient.New(w.config.REST, gv, add)
	if err != nil {
		return false, err
	}
	err = kubeclient.Retry(ctx, func() error {
		return client.Get().MaxRetries(0).Namespace(p.Namespace).Resource(resource).Do(ctx).Into(into)
	})
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsForbidden(err):
		p.warning("it is not known which %s there are: to list them in %s is forbidden", resource, p.Namespace)
		return false, nil
	}
	return false, fmt.Errorf("list the %s of namespace %s: %w", resource, p.Namespace, err)
}

// pod has the API server try a pod of the agent's.
func (w *Writer) pod(ctx context.Context, p *plan, d Diversion) error {
	doc, err := agentPod(p.live, d)
	if err != nil {
		return err
	}
	client, err := kubeclient.New(w.config.REST, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return err
	}
	var made corev1.Pod
	err = kubeclient.Retry(ctx, func() error {
		return client.Post().MaxRetries(0).Namespace(p.Namespace).Resource("pods").Param("dryRun", metav1.DryRunAll).
			SetHeader("Content-Type", runtime.ContentTypeJSON).Body(doc).Do(ctx).Into(&made)
	})
	switch {
	case err == nil:
		p.made(made, d)
	case strings.Contains(fmt.Sprint(err), "exceeded quota: "): // the quota admission has no cause for it
		if p.away() > 0 {
			p.warning("the namespace's quota has no room for one pod more; an old one has to go first: %v", err)
			break
		}
		p.refuse(kubeclient.ForbiddenAdvice(err, p.Namespace, ""), "a rollout of %s needs room for one pod more: %v", p.Subject, err)
	case forbidden(err):
		p.warning("it is not known whether the cluster accepts a pod of the agent's: to create pods in %s is forbidden", p.Namespace)
	case final(err), webhookAdvice(err) != "":
		p.refuse(refusalAdvice(err, p.Namespace), "the cluster does not accept a pod of the agent's: %v", err)
	default:
		return fmt.Errorf("try a pod of the agent's for %s: %w", p.Subject, err)
	}
	return nil
}

// made looks at the pod that admission would make of one of the agent's. Containers and
// annotations that it adds are no matter, and nor is where it has the image pulled from.
func (p *plan) made(pod corev1.Pod, d Diversion) {
	for _, c := range pod.Spec.Containers {
		switch {
		case c.Name != d.Container:
		case !d.IsAgent(c.Image):
			p.refuse(admissionAdvice, "the cluster runs image %q in container %q of its pods, in place of the agent's", c.Image, c.Name)
		case c.ImagePullPolicy == corev1.PullNever:
			p.refuse(admissionAdvice, "the cluster gives container %q of its pods the imagePullPolicy Never, so that no node would get the agent", c.Name)
		}
	}
}

// forbidden says whether it is authorization that refused, and not admission.
func forbidden(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource \"pods\"")
}

// agentPod is a pod as the Deployment would have one of the agent's.
func agentPod(o deployment, d Diversion) ([]byte, error) {
	template, _ := child(o.raw, "spec", "template").(map[string]any)
	meta, _ := child(template, "metadata").(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["generateName"] = d.Name + "-"
	doc, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": child(template, "spec")})
	if err != nil {
		return nil, err
	}
	var pod corev1.Pod
	if err := json.Unmarshal(doc, &pod); err != nil {
		return nil, fmt.Errorf("%w: the pod template of %s cannot be read: %w", ErrInvalid, d.Subject, err)
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == d.Container {
			c.Image = d.Agent
		}
	}
	return json.Marshal(pod)
}
