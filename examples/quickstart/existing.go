package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// platforms are those of the cluster's nodes, sorted.
func platforms(ctx context.Context, config *rest.Config) ([]string, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for the platforms of the cluster's nodes: %w", err)
	}
	var all []string
	for _, n := range nodes.Items {
		all = append(all, n.Status.NodeInfo.OperatingSystem+"/"+n.Status.NodeInfo.Architecture)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// deleteNamespaces deletes the namespaces that the story made, as far as it came.
func deleteNamespaces(ctx context.Context, config *rest.Config, names ...string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		ns, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			err = client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(ns.UID))})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("delete namespace %s, which the quickstart made: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// deleteRights deletes what deploy gave the target's deliveries on the whole
// cluster.
func deleteRights(ctx context.Context, config *rest.Config, receipts, target string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	name, rbac := "pharos:"+receipts+":"+target, client.RbacV1()
	var errs []error
	for what, remove := range map[string]func(context.Context, string, metav1.DeleteOptions) error{
		"role binding": rbac.ClusterRoleBindings().Delete, "role": rbac.ClusterRoles().Delete,
	} {
		// The name has the namespace in it, which nobody else has.
		if err := remove(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("delete cluster %s %s, which the quickstart made: %w", what, name, err))
		}
	}
	return errors.Join(errs...)
}
