package takeover

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// pulls is a clock that is set by hand.
type pulls struct {
	Clock
	awake time.Duration
}

func (c *pulls) Awake() time.Duration { return c.awake }

// A takeover ends with the node's words when an agent's image cannot be pulled for
// longer than the nodes need to try again, and not before. Pods that end, and containers
// that are not the agent's, are no reason.
func TestUnpulled(t *testing.T) {
	t.Parallel()
	agent := "registry.example/shop/pharos-agent@sha256:" + strings.Repeat("a", 64)
	d := divert.Diversion{Subject: divert.Subject{Namespace: "shop", Name: "api", Container: "main"}, Agent: agent}
	clock := &pulls{}
	s := &Session{Config: Config{Clock: clock}, doc: journal.Document{Workloads: []journal.Workload{{Diversion: d}}}}
	p := &part{workload: Workload{Namespace: "shop", Name: "api", Container: "main"}}
	pod := func(container, reason string, ending bool) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "api-1", UID: "u"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: agent}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "pull access denied"}}}}}}
		if ending {
			pod.DeletionTimestamp = &metav1.Time{}
		}
		return pod
	}
	fails := func(reasons ...corev1.Pod) error {
		pulling := s.pulling(p)
		var err error
		for _, one := range reasons {
			err = pulling(judge(&appsv1.Deployment{}, []corev1.Pod{one}, d))
			clock.awake += pullPatience
		}
		return err
	}
	failed, creating := pod("main", "ErrImagePull", false), pod("main", "ContainerCreating", false)
	for name, ok := range map[string]error{
		"once":      fails(failed),
		"again":     fails(failed, creating, failed),
		"ends":      fails(pod("main", "ImagePullBackOff", true), pod("main", "ImagePullBackOff", true)),
		"a sidecar": fails(pod("sidecar", "ImagePullBackOff", false), pod("sidecar", "ImagePullBackOff", false)),
	} {
		if ok != nil {
			t.Errorf("%s: %v", name, ok)
		}
	}
	err := fails(failed, pod("main", "ImagePullBackOff", false))
	if !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{agent, "pod api-1: container main: ImagePullBackOff: pull access denied", "imagePullSecrets"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}
