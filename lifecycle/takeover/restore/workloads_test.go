package restore_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// One workload that cannot be put back keeps none of the others, and the next pass goes
// on with it.
func TestOneFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api", "web")
	b.release()
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile("/deployments/api"), Do: faultproxy.Answer(http.StatusForbidden)})
	report, err := b.restorer(proxy.Config(b.cluster.Config()), nil).Pass(t.Context())
	if err == nil || report.Done || report.Diverted != 1 || len(report.Workloads) != 2 || report.Workloads[0].Err == nil || report.Workloads[1].Err != nil ||
		!strings.Contains(err.Error(), "Deployment "+b.namespace+"/api") {
		t.Errorf("got %+v, %v", report, err)
	}
	if report := b.pass(b.restorer(b.cluster.Config(), nil)); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}

// What somebody else has changed is kept and named, and what is not the target's is not
// touched, whatever the session object says.
func TestKeptAndForeign(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api", "web")
	b.release()
	patch := func(name, patch string) {
		if _, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("api", `[{"op":"replace","path":"/spec/template/spec/containers/0/command","value":["sh"]}]`)
	patch("web", `[{"op":"remove","path":"/metadata/labels/pharos.dev~1target"}]`)
	r := b.restorer(b.cluster.Config(), nil)
	report, err := r.Pass(t.Context())
	if !errors.Is(err, divert.ErrNotDelivered) || report.Done || len(report.Workloads) != 2 || len(report.Workloads[0].Kept) != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
	if !strings.Contains(part(t, b.live("web"), "spec"), agent) {
		t.Error("what is not the target's was written")
	}
	// It is known still how it is put back.
	patch("web", `[{"op":"add","path":"/metadata/labels","value":{"pharos.dev/target":"devbox"}}]`)
	if report := b.pass(r); !report.Done || strings.Contains(part(t, b.live("web"), "spec"), agent) {
		t.Errorf("got %+v", report)
	}
}
