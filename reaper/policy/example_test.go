package policy_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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

// Review tells what is there that would have been refused, before a policy is applied.
func ExampleReview() {
	review := func(ctx context.Context, cluster *rest.Config) error {
		r, err := policy.Review(ctx, cluster, policy.Config{
			Tier:       reaper.Tier{Name: "agents", MaxTTL: 24 * time.Hour, MaxObjects: 20, CPU: 8000, Memory: 16 << 30, CreatesPerHour: reaper.Unlimited},
			Namespaces: []string{"sandboxes"}, Resources: policy.DefaultResources,
		})
		if err != nil {
			return err
		}
		for _, f := range r.Findings {
			fmt.Println(f.Kind, f.Namespace, f.Name, f.Refusals)
		}
		for _, q := range r.Quotas {
			if q.Full() {
				fmt.Println(q)
			}
		}
		for _, g := range r.Gaps {
			fmt.Println("not looked at:", g.Resource, g.Namespace, g.Reason)
		}
		return nil
	}
	_ = review
}

// A Quota says what of a limit is used.
func ExampleQuota() {
	q := policy.Quota{Namespace: "sandboxes", Limit: "requests.cpu", Hard: resource.MustParse("8"), Used: resource.MustParse("9500m"), Unsaid: []string{"agent-7"}}
	fmt.Println(q)
	fmt.Println(q.Exceeded(), q.Refuses())
	// Output:
	// requests.cpu in sandboxes: 9500m of 8 are used, 1500m too much; 1 pods do not say what they request: agent-7
	// true true
}
