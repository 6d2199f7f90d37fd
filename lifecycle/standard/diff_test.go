package standard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// TestDiff compares commits with the target, with the rights of a delivery, and
// writes nothing.
func TestDiff(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	s.write(map[string]string{
		"gitops/settings.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: USD}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n",
		"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [api.yaml, settings.yaml]\n",
	})
	s.commit("Sell abroad, and write no letters")

	rights := documentedRights(t, s)
	config, user := devtest.User(t, c, s.namespace, rights)
	audit := devtest.RecordAudit(t, c)
	l := s.lifecycle(config)
	d, err := l.Diff(t.Context(), lifecycle.DiffRequest{Commit: s.head()})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"created ConfigMap " + s.namespace + "/more", "configured ConfigMap " + s.namespace + "/settings"}
	if got := changesOf(d); !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	settings := d.Changes[1]
	if live, merged := string(settings.Live), string(settings.Merged); !strings.Contains(live, `"currency":"EUR"`) || !strings.Contains(merged, `"currency":"USD"`) {
		t.Errorf("live %s, merged %s", live, merged)
	}
	if len(d.Orphans) != 1 || lifecycle.ObjectName(d.Orphans[0]) != "Deployment "+s.namespace+"/mail" {
		t.Errorf("orphans %v", d.Orphans)
	}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		if !slices.Contains([]string{"get", "list", "watch"}, e.Verb) && !strings.Contains(e.RequestURI, "dryRun=All") {
			t.Errorf("%s %s writes", e.Verb, e.RequestURI)
		}
	}

	// Somebody else takes a field.
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace)
	if _, err := maps.Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"currency":"CHF"}}`), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	d, err = l.Diff(t.Context(), lifecycle.DiffRequest{Commit: s.head()})
	conflict, ok := errors.AsType[*lifecycle.ConflictError](err)
	if !ok || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Owner != "somebody" {
		t.Errorf("want a conflict with somebody, got %v", err)
	}
	want[1] = "conflict ConfigMap " + s.namespace + "/settings"
	if got := changesOf(d); !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	want[1] = "configured ConfigMap " + s.namespace + "/settings"
	if d, err = l.Diff(t.Context(), lifecycle.DiffRequest{Commit: s.head(), Force: true}); err != nil || !slices.Equal(changesOf(d), want) {
		t.Errorf("with force: %q, %v, want %q", changesOf(d), err, want)
	}

	// A preview with the receipts knows what the delivery knew.
	p, err := l.Preview(t.Context(), s.head())
	if err != nil || len(p.Unknown()) != 0 || len(p.Objects) != 3 {
		t.Errorf("%d objects, unknown %v: %v", len(p.Objects), p.Unknown(), err)
	}
}

func changesOf(d lifecycle.Diff) []string {
	var all []string
	for _, c := range d.Changes {
		all = append(all, string(c.Type)+" "+lifecycle.ObjectName(c.Object))
	}
	return all
}
