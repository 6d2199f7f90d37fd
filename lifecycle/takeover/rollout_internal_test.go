package takeover

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// connectedTo is a process that serves these pods.
type connectedTo struct {
	Process
	pods []types.UID
}

func (c connectedTo) Connected(pod types.UID) bool {
	for _, uid := range c.pods {
		if uid == pod {
			return true
		}
	}
	return false
}

// Pods that terminate are counted apart, and are not served from here.
func TestPodsThatTerminate(t *testing.T) {
	t.Parallel()
	d := divert.Diversion{Subject: divert.Subject{Container: "api"}, Agent: "registry/agent@sha256:1"}
	pod := func(uid types.UID, image string, ends bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "api", Image: image}}}}
		if ends {
			p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
		return p
	}
	pods := []corev1.Pod{pod("1", d.Agent, false), pod("2", d.Agent, true), pod("3", "api", false), pod("4", "api", true), pod("5", "api", true)}
	n := (&Session{}).count(&part{process: connectedTo{pods: []types.UID{"1", "2"}}}, judge(&appsv1.Deployment{}, pods, d))
	if want := (Pods{Wanted: 1, Agents: 2, Connected: 1, Others: 3, AgentsEnding: 1, OthersEnding: 2}); n != want {
		t.Errorf("it counts %+v, want %+v", n, want)
	}
}

// What is said of the connections has a meaning also where there is none.
func TestConnectedLine(t *testing.T) {
	t.Parallel()
	for want, n := range map[string][2]int{
		"no agent is connected, and none is there": {0, 0}, "no agent is connected, of 2": {0, 2}, "1 of 2 agents are connected": {1, 2},
	} {
		if got := connectedLine(n[0], n[1]); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}
