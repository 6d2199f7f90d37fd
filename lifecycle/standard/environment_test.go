package standard_test

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// Configuration that only reaches pods which are started anew is named, in the
// delivery that changes it.
func TestConfigurationOfAnEnvironment(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	settings := func(currency string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: " + currency + "}\n"
	}
	workload := `apiVersion: apps/v1
kind: Deployment
metadata: {name: till}
spec:
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec: {containers: [{name: till, image: registry.invalid/till, envFrom: [{configMapRef: {name: settings}}]}]}
`
	s.write(map[string]string{
		"pharos.yaml":               onlySettings(s),
		"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [settings.yaml, till.yaml]\n",
		"gitops/settings.yaml":      settings("EUR"), "gitops/till.yaml": workload,
	})
	s.commit("Open a till")
	for _, step := range []struct {
		files map[string]string
		says  bool
	}{
		{nil, false},
		{map[string]string{"gitops/settings.yaml": settings("USD")}, true},
		{map[string]string{"gitops/settings.yaml": settings("GBP"), "gitops/till.yaml": strings.Replace(workload, "name: till, image", "args: [now], name: till, image", 1)}, false},
	} {
		if step.files != nil {
			s.write(step.files)
			s.commit("Change it")
		}
		res := s.reconcile(c.Config())
		if said := len(res.Noticed) == 1 && res.Noticed[0].Subject == "ConfigMap "+s.namespace+"/settings" &&
			strings.Contains(res.Noticed[0].Message, "kubectl rollout restart --namespace "+s.namespace+" deployment/till"); said != step.says || len(res.Noticed) > 1 {
			t.Errorf("after %v: noticed %+v", step.files, res.Noticed)
		}
	}
}
