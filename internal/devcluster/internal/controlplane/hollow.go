package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/controllers"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwokclient "sigs.k8s.io/kwok/pkg/utils/client"

	kwokversioned "sigs.k8s.io/kwok/pkg/client/clientset/versioned"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// hollowNodeName is the name of the node that kwok plays.
const hollowNodeName = "hollow-node"

// hollowNotice is what the node and the log say of it.
const hollowNotice = "This node is hollow: pods that are scheduled to it reach Running, Ready and Succeeded, but none of their containers ever runs."

// runHollowNode registers the hollow node and plays its kubelet.
func (c Config) runHollowNode(ctx context.Context) error {
	log := kwoklog.NewLogger(c.LogFile, kwoklog.LevelWarn)
	ctx = kwoklog.NewContext(ctx, log)
	c.Log.Warn(hollowNotice, "node", hollowNodeName)

	clients, err := kwokclient.NewClientset("", c.Folder.Path(state.HollowNode.File))
	if err != nil {
		return err
	}
	restConfig, err := clients.ToRESTConfig()
	if err != nil {
		return err
	}
	typed, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return err
	}
	if err := registerHollowNode(ctx, typed); err != nil {
		return err
	}
	kubelet, err := c.newHollowKubelet(ctx, clients, restConfig, typed)
	if err != nil {
		return err
	}
	if err := kubelet.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (c Config) newHollowKubelet(ctx context.Context, clients kwokclient.Clientset, restConfig *rest.Config, typed kubernetes.Interface) (*kwok.Controller, error) {
	stages, err := hollowStages()
	if err != nil {
		return nil, err
	}
	dynamic, err := clients.ToDynamicClient()
	if err != nil {
		return nil, err
	}
	mapper, err := clients.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	restClient, err := rest.RESTClientFor(restConfig)
	if err != nil {
		return nil, err
	}
	own, err := kwokversioned.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	o := config.GetKwokConfiguration(ctx).Options
	return kwok.NewController(kwok.Config{
		Clock:                           clock.RealClock{},
		DynamicClient:                   dynamic,
		RESTClient:                      restClient,
		RESTMapper:                      mapper,
		ImpersonatingDynamicClient:      clients.ToImpersonatingDynamicClient(),
		ImpersonatingTypedClient:        clients.ToImpersonatingTypedClient(),
		TypedClient:                     typed,
		TypedKwokClient:                 own,
		ManageSingleNode:                hollowNodeName,
		CIDR:                            o.CIDR,
		NodeIP:                          "127.0.0.1",
		NodeName:                        hollowNodeName,
		LocalStages:                     stages,
		PodPlayStageParallelism:         o.PodPlayStageParallelism,
		NodePlayStageParallelism:        o.NodePlayStageParallelism,
		NodeLeaseParallelism:            o.NodeLeaseParallelism,
		NodeLeaseDurationSeconds:        40,
		PodsOnNodeSyncParallelism:       o.PodsOnNodeSyncParallelism,
		EnablePodsOnNodeSyncListPager:   o.EnablePodsOnNodeSyncListPager,
		EnablePodsOnNodeSyncStreamWatch: o.EnablePodsOnNodeSyncStreamWatch,
		// Always the same, so that after a restart the node's lease is still its own.
		ID: state.HollowNode.Name,
	})
}

func registerHollowNode(ctx context.Context, client kubernetes.Interface) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
	_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: hollowNodeName,
			Labels: map[string]string{
				corev1.LabelHostname:   hollowNodeName,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
				"pharos.dev/hollow":    "true",
			},
			Annotations: map[string]string{
				"kwok.x-k8s.io/node":       "fake",
				"pharos.dev/hollow-notice": hollowNotice,
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:            "amd64",
				OperatingSystem:         "linux",
				OSImage:                 "none (pods do not really run here)",
				KernelVersion:           "none",
				ContainerRuntimeVersion: "none://hollow",
				KubeletVersion:          version.Get().GitVersion + "-hollow",
			},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register the node: %w", err)
	}
	return nil
}
