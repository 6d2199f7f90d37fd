package standard_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// gated is a Deployment of the shop whose pods run; more goes into its container. It
// counts pods only after a while: one that crashes right after its start is ready for
// a moment where no probe says otherwise.
func gated(image, command, more string) string {
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  strategy: {type: Recreate}
  minReadySeconds: 3
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: api
        image: ` + image + `
        command: [/bin/sh, -c, "` + command + `"]
` + more
}

// TestGates delivers what cannot become healthy, each kind of it on a real node:
// live stays, applied and its outcome say what failed and why, a rollback brings
// back what was live, and the next good commit goes live.
func TestGates(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	cfg := n.Cluster.Config()
	s := newBareShop(t, n.Cluster)
	const good = "sleep 1000000"
	s.write(map[string]string{
		"pharos.yaml":               "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\ndelivery: [gitops/**, pharos.yaml]\n---\n" + targetOf(s),
		"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [api.yaml]\n",
		"gitops/api.yaml":           gated(n.Busybox(), good, ""),
	})
	s.commit("Run")
	s.deploy(cfg)

	for name, gate := range map[string]struct{ api, more, says string }{
		"an image that does not exist": {gated(n.Busybox()[:len(n.Busybox())-4]+"0000", good, ""), "", `(?i)Deployment .*/api: .*pull`},
		"a crash loop":                 {gated(n.Busybox(), "echo no money >&2; exit 3", ""), "", `Deployment .*/api: .*(ended with code 3|CrashLoopBackOff)`},
		"readiness that is never true": {gated(n.Busybox(), good, "        readinessProbe: {exec: {command: [/bin/false]}, periodSeconds: 1}\n"), "", `Deployment .*/api: .*`},
		"a Job that fails": {gated(n.Busybox(), good, ""), `---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: ` + n.Busybox() + `, command: [/bin/sh, -c, "exit 7"]}]}}
`, `Job .*/migrate: .*`},
		"a claim that stays pending": {gated(n.Busybox(), good, ""), `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: none-of-that-name, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`, `PersistentVolumeClaim .*/data: .*`},
	} {
		before := s.status(cfg)
		s.write(map[string]string{"gitops/api.yaml": gate.api + gate.more})
		s.commit("Have " + name)
		_, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Timeout: 10 * time.Second})
		if !errors.Is(err, lifecycle.ErrUnhealthy) || !regexp.MustCompile(gate.says).MatchString(err.Error()) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		st := s.status(cfg)
		if st.Live.ID != before.Live.ID || st.Applied.ID == st.Live.ID || st.Last.Type != receipt.OutcomeFailed || !regexp.MustCompile(gate.says).MatchString(st.Last.Reason) {
			t.Errorf("%s: applied %s, live %s, last %+v", name, st.Applied.ID.Short(), st.Live.ID.Short(), st.Last)
		}
		back := s.rollback(cfg, "")
		if st := s.status(cfg); !st.IsLive() || st.Live.ID != back.Receipt {
			t.Errorf("%s: after the rollback %+v", name, st.Observation)
		}
		s.write(map[string]string{"gitops/api.yaml": gated(n.Busybox(), good, "        env: [{name: AFTER, value: "+name+"}]\n")})
		s.commit("Mend " + name)
		s.reconcile(cfg)
	}
}

// targetOf is the Target document of the shop.
func targetOf(s *shop) string {
	return "apiVersion: pharos.dev/v1alpha1\nkind: Target\nmetadata: {name: " + s.namespace + "}\nspec:\n  namespace: " + s.namespace +
		"\n  registry: {push: \"" + s.registry + "/shop\", insecure: true}\n  overlay: gitops\n"
}
