package takeover_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// What scales or sizes a workload is warned of, whoever makes it; what scales another
// one is not.
func TestSelectScaled(t *testing.T) {
	t.Parallel()
	for kind, tt := range map[string]struct{ group, spec, want string }{
		"HorizontalPodAutoscaler": {"autoscaling", `{"scaleTargetRef":{"kind":"Deployment","name":"NAME"}}`, "HorizontalPodAutoscaler shop/scaler scales it"},
		"ScaledObject":            {"keda.sh", `{"scaleTargetRef":{"name":"NAME"},"minReplicaCount":0}`, "ScaledObject shop/scaler scales it"},
		"VerticalPodAutoscaler":   {"autoscaling.k8s.io", `{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"NAME"}}`, "VerticalPodAutoscaler shop/scaler learns from the agents"},
	} {
		for _, name := range []string{"api", "mail"} {
			f := shopFacts(t)
			declare(&f, tt.group, kind, "scaler", "", strings.ReplaceAll(tt.spec, "NAME", name))
			p := takeover.Select(f)
			if p.Err() != nil || strings.Contains(fmt.Sprint(p.Warnings), tt.want) != (name == "api") {
				t.Errorf("%s of %s: %v, %v", kind, name, p.Warnings, p.Err())
			}
		}
	}
}

// A Rollout of Argo Rollouts is refused with the image that it uses, and a Deployment
// that one runs, which is scaled to no pod, with that.
func TestSelectRollout(t *testing.T) {
	t.Parallel()
	f := shopFacts(t)
	declare(&f, "argoproj.io", "Rollout", "shop", "", containers("api"))
	if err := takeover.Select(f).Err(); err == nil || !strings.Contains(err.Error(), "Rollout shop/shop: it uses image api") || !strings.Contains(err.Error(), "only a Deployment can be taken over") {
		t.Errorf("got %v", err)
	}
	f = shopFacts(t)
	for name := range f.Deployments {
		f.Deployments[name] = []byte(strings.Replace(string(f.Deployments[name]), `"spec":{`, `"spec":{"replicas":0,`, 1))
	}
	if err := takeover.Select(f).Err(); err == nil || !strings.Contains(err.Error(), "has no replicas") {
		t.Errorf("got %v", err)
	}
}
