package controlplane

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// probeName is the name of the Deployment that shows that the cluster works.
const probeName = "pharos-devcluster-probe"

// runProbe has a Deployment rolled out, as far as there is a node for it, and deleted with its pods.
func (c Config) runProbe(ctx context.Context, client kubernetes.Interface, failed <-chan error) error {
	deployments := client.AppsV1().Deployments(metav1.NamespaceSystem)
	_, err := deployments.Create(ctx, c.probeDeployment(), metav1.CreateOptions{})
	// After a hard kill in the middle of a probe there is one already.
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("probe the cluster: %w", err)
	}
	rolledOut := func() (bool, error) {
		d, err := deployments.Get(ctx, probeName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return d.DeletionTimestamp != nil || d.Status.AvailableReplicas == 1, nil
	}
	judged := func() (bool, error) {
		pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "app=" + probeName})
		if err != nil {
			return false, err
		}
		return len(pods.Items) == 1 && len(pods.Items[0].Status.Conditions) > 0, nil
	}
	if c.nodeName() != "" {
		err = await(ctx, failed, "the probe's Deployment to be available", rolledOut)
	} else {
		err = await(ctx, failed, "the scheduler to judge the probe's pod", judged)
	}
	if err != nil {
		return err
	}
	foreground := metav1.DeletePropagationForeground
	if err := deployments.Delete(ctx, probeName, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("probe the cluster: %w", err)
	}
	return await(ctx, failed, "the garbage collector to remove the probe", func() (bool, error) {
		_, err := deployments.Get(ctx, probeName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

func (c Config) probeDeployment() *appsv1.Deployment {
	image := "probe.invalid/probe"
	if c.Node != nil {
		image = c.Node.ProbeImage
	}
	replicas := int32(1)
	labels := map[string]string{"app": probeName}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: probeName},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: image}}},
			},
		},
	}
}
