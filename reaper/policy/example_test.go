package policy_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/policy"
)

func ExampleObjects() {
	objects, err := policy.Objects(policy.Config{
		Tier:       reaper.Tier{Name: "agents", MaxTTL: 24 * time.Hour, MaxObjects: 20, CPU: 8000, Memory: 16 << 30, CreatesPerHour: 100},
		Namespaces: []string{"sandboxes"},
		Resources:  []string{"pods", "jobs.batch"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range objects {
		fmt.Println(o.GetObjectKind().GroupVersionKind().Kind, o.(metav1.Object).GetName())
	}
	// Output:
	// ValidatingAdmissionPolicy pharos-tier-agents
	// ValidatingAdmissionPolicyBinding pharos-tier-agents
	// ResourceQuota pharos-tier-agents
}

func ExampleCheck() {
	o := reaper.Object{
		Kind: "Pod", Namespace: "sandboxes", Name: "agent-7", Created: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
		Labels: map[string]string{"pharos.dev/intent": "transient"}, Annotations: map[string]string{"pharos.dev/ttl": "2w"},
	}
	for _, refusal := range policy.Check(o, reaper.Tier{Name: "agents", MaxTTL: 24 * time.Hour}) {
		fmt.Println(refusal)
	}
	// Output:
	// pharos.dev/owner: it does not say whom to ask about it
	// pharos.dev/ttl: 14d is longer than 1d, which the tier agents keeps things for
}
