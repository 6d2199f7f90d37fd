package kube_test

import (
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
	"github.com/pharos-dev/pharos/receipt/receipttest"
)

// rules are what the package comment documents.
var rules = []rbacv1.PolicyRule{{
	APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "patch"},
}}

// The suite runs with the documented rights and no others.
func TestStore(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	receipttest.TestStore(t, func(t *testing.T) receipt.Store {
		ns := devtest.Namespace(t, c)
		config, _ := devtest.User(t, c, ns, devtest.Rights{Namespaced: rules})
		return open(t, config, ns, receipttest.Target)
	})
}

func open(t *testing.T, config *rest.Config, namespace, target string) *kube.Store {
	t.Helper()
	s, err := kube.New(kube.Config{REST: config, Namespace: namespace, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(target string, n int) receipt.Record {
	return receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: target, ClusterUID: "5f0c8a52-8f4e-4f8f-b1f6-7a5a5b0f0a11"},
		Commit:     fmt.Sprintf("%040x", n),
		Tree:       strings.Repeat("2", 40),
		Catalogue:  "sha256:" + strings.Repeat("3", 64),
		Renderer:   receipt.Renderer{Name: "kustomize", Version: "v0.21.2"},
	}
}

func outcome(n int) receipt.Outcome {
	return receipt.Outcome{Type: receipt.OutcomeAttempt, Time: time.Unix(int64(n), 0).UTC(), Operation: fmt.Sprintf("op-%d", n)}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := kube.Config{REST: &rest.Config{Host: "https://localhost"}, Namespace: "pharos", Target: "devbox"}
	for name, change := range map[string]func(*kube.Config){
		"no REST":     func(c *kube.Config) { c.REST = nil },
		"namespace":   func(c *kube.Config) { c.Namespace = "" },
		"target":      func(c *kube.Config) { c.Target = "" },
		"dotted name": func(c *kube.Config) { c.Target = "a.b" },
		"upper case":  func(c *kube.Config) { c.Target = "Devbox" },
		"bad host":    func(c *kube.Config) { c.REST = &rest.Config{Host: "http://[::1"} },
	} {
		c := good
		change(&c)
		if s, err := kube.New(c); err == nil || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if _, err := kube.New(good); err != nil {
		t.Error(err)
	}
}

// Each method makes as many calls as the package comment says.
func TestCalls(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, counter := devtest.Count(c.Config())
	s := open(t, config, ns, "devbox")
	ctx := t.Context()
	var id receipt.ID
	var p receipt.Pointers
	for _, step := range []struct {
		name  string
		calls []string
		run   func() error
	}{
		{"Put", []string{"POST"}, func() (err error) { id, err = s.Put(ctx, record("devbox", 1)); return err }},
		{"Put again", []string{"POST", "GET"}, func() error { _, err := s.Put(ctx, record("devbox", 1)); return err }},
		{"Get", []string{"GET"}, func() error { _, err := s.Get(ctx, id); return err }},
		{"AddOutcome", []string{"GET", "POST"}, func() error { return s.AddOutcome(ctx, id, outcome(1)) }},
		{"Outcomes", []string{"GET"}, func() error { _, err := s.Outcomes(ctx, id); return err }},
		{"List", []string{"GET"}, func() error { _, err := s.List(ctx); return err }},
		{"Pointers", []string{"GET"}, func() (err error) { p, err = s.Pointers(ctx); return err }},
		{"SetPointers first", []string{"POST"}, func() (err error) { p, err = s.SetPointers(ctx, p, receipt.Pointers{Applied: id}); return err }},
		{"SetPointers", []string{"PATCH"}, func() (err error) {
			_, err = s.SetPointers(ctx, p, receipt.Pointers{Applied: id, Live: id})
			return err
		}},
	} {
		counter.Reset()
		if err := step.run(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		var calls []string
		for _, r := range counter.Requests() {
			calls = append(calls, r.Method)
		}
		if diff := cmp.Diff(step.calls, calls); diff != "" {
			t.Errorf("%s:\n%s", step.name, diff)
		}
	}
}

// Targets whose names begin alike share a namespace.
func TestSeveralTargets(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	ctx := t.Context()
	targets := []string{"a", "a-a", "a-a-a"}
	for _, target := range targets {
		s := open(t, c.Config(), ns, target)
		id, err := s.Put(ctx, record(target, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddOutcome(ctx, id, outcome(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range targets {
		s := open(t, c.Config(), ns, target)
		id, err := record(target, 1).ID()
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.List(ctx)
		if err != nil || len(list) != 1 || list[0].ID != id {
			t.Errorf("target %s: %v, %v", target, list, err)
		}
		if o, err := s.Outcomes(ctx, id); err != nil || len(o) != 1 {
			t.Errorf("target %s: %v, %v", target, o, err)
		}
		if p, err := s.Pointers(ctx); err != nil || p.Applied != id {
			t.Errorf("target %s: %v, %v", target, p, err)
		}
	}
}

// A store whose namespace does not exist is empty, and says so when something
// is written.
func TestNoNamespace(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := open(t, c.Config(), fmt.Sprintf("pharos-none-%d", rand.Int()), "devbox")
	ctx := t.Context()
	id, err := record("devbox", 1).ID()
	if err != nil {
		t.Fatal(err)
	}
	if l, err := s.List(ctx); err != nil || len(l) != 0 {
		t.Errorf("List: %v, %v", l, err)
	}
	if p, err := s.Pointers(ctx); err != nil || p != (receipt.Pointers{}) {
		t.Errorf("Pointers: %v, %v", p, err)
	}
	if _, err := s.Get(ctx, id); !errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("Get: %v, want ErrNotFound", err)
	}
	_, err = s.Put(ctx, record("devbox", 1))
	var e *kube.Error
	if !errors.Is(err, kube.ErrNoNamespace) || !errors.As(err, &e) || !strings.Contains(e.Advice, "kubectl create namespace pharos-none") {
		t.Errorf("Put: %v, want ErrNoNamespace and what to do", err)
	}
	if errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("Put: %v is an ErrNotFound", err)
	}
	if _, err := s.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id}); !errors.Is(err, kube.ErrNoNamespace) {
		t.Errorf("SetPointers: %v, want ErrNoNamespace", err)
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, user := devtest.User(t, c, ns, devtest.Rights{})
	s := open(t, config, ns, "devbox")
	_, err := s.Put(t.Context(), record("devbox", 1))
	var e *kube.Error
	if !apierrors.IsForbidden(err) || !errors.As(err, &e) || e.Advice == "" || !strings.Contains(err.Error(), user) {
		t.Errorf("Put: %v, want who is forbidden what, and what to do", err)
	}
	if _, err := s.Pointers(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("Pointers: %v, want forbidden", err)
	}
}

// Records and outcomes are immutable, outcomes go with their record, and what
// others add to the pointers stays.
func TestObjects(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	s := open(t, c.Config(), ns, "devbox")
	ctx := t.Context()
	id, err := s.Put(ctx, record("devbox", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddOutcome(ctx, id, outcome(1)); err != nil {
		t.Fatal(err)
	}
	p, err := s.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id})
	if err != nil {
		t.Fatal(err)
	}
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
	all, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "pharos.dev/receipts-of=devbox"})
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]*corev1.ConfigMap{}
	for i, m := range all.Items {
		parts[m.Labels["pharos.dev/receipt-part"]] = &all.Items[i]
		if m.Labels["pharos.dev/target"] != "" {
			t.Errorf("%s looks like something that was delivered", m.Name)
		}
	}
	if len(all.Items) != 3 || len(parts) != 3 {
		t.Fatalf("%d objects of parts %v", len(all.Items), parts)
	}
	for _, part := range []string{"record", "outcome"} {
		m := parts[part].DeepCopy()
		for key := range m.Data {
			m.Data[key] += " "
		}
		if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("an update of the %s: %v, want that it is immutable", part, err)
		}
	}
	owners := parts["outcome"].OwnerReferences
	if len(owners) != 1 || owners[0].UID != parts["record"].UID {
		t.Errorf("the outcome is owned by %v", owners)
	}

	m := parts["pointers"]
	m.Labels["team"] = "shop"
	if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetPointers(ctx, p, receipt.Pointers{Applied: id}); !errors.Is(err, receipt.ErrConflict) {
		t.Errorf("SetPointers after a change: %v, want ErrConflict", err)
	}
	if p, err = s.Pointers(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetPointers(ctx, p, receipt.Pointers{Applied: id, Live: id}); err != nil {
		t.Fatal(err)
	}
	if m, err = maps.Get(ctx, m.Name, metav1.GetOptions{}); err != nil || m.Labels["team"] != "shop" {
		t.Errorf("the pointers' labels are %v (%v)", m.Labels, err)
	}
	if diff := cmp.Diff(map[string]string{"applied": string(id), "live": string(id), "repository": ""}, m.Data); diff != "" {
		t.Error(diff)
	}
}

// A record too large for a ConfigMap even when it is compressed is refused as
// such, and nothing is written.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := open(t, c.Config(), devtest.Namespace(t, c), "devbox")
	r := record("devbox", 1)
	noise := make([]byte, 2<<20)
	random := rand.New(rand.NewSource(1))
	for i := range noise {
		noise[i] = 'a' + byte(random.Intn(26))
	}
	r.Images = []receipt.Image{{
		Name: "web", Fingerprint: r.Catalogue, Repository: "r/web", Digest: r.Catalogue, Platforms: []string{"linux/amd64"},
		Preimage: []receipt.Field{{Key: "noise", Value: string(noise)}},
	}}
	if id, err := s.Put(t.Context(), r); !errors.Is(err, receipt.ErrTooLarge) || id != "" {
		t.Errorf("Put: %v, %v, want ErrTooLarge", id, err)
	}
	if l, err := s.List(t.Context()); err != nil || len(l) != 0 {
		t.Errorf("List: %v, %v", l, err)
	}
}

// What stands under a receipt's name and is not that receipt is never taken for
// it.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	other, err := record("devbox", 2).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	id, err := record("devbox", 1).ID()
	if err != nil {
		t.Fatal(err)
	}
	const name = "pharos-devbox"
	for what, m := range map[string]corev1.ConfigMap{
		"nothing":         {},
		"no JSON":         {Data: map[string]string{"record.json": "x"}},
		"another record":  {Data: map[string]string{"record.json": string(other)}},
		"no gzip":         {BinaryData: map[string][]byte{"record.json.gz": []byte("x")}},
		"half a gzip":     {BinaryData: map[string][]byte{"record.json.gz": {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}}},
		"wrong pointers":  {Data: map[string]string{"applied": "main"}},
		"wrong outcome":   {Data: map[string]string{"outcome.json": "{}"}},
		"swapped outcome": {},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ns := devtest.Namespace(t, c)
			s := open(t, c.Config(), ns, "devbox")
			maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
			labels := map[string]string{"pharos.dev/receipts-of": "devbox", "pharos.dev/receipt-part": "record", "pharos.dev/receipt": id.Hex()[:40]}
			calls := map[string]func() error{}
			switch what {
			case "wrong pointers":
				m.Name = name
				m.Data["live"] = string(id)
				calls["Pointers"] = func() error { return replaceDamaged(t, s, id) }
			case "wrong outcome", "swapped outcome":
				m.Name = name + ".outcome"
				labels["pharos.dev/receipt-part"] = "outcome"
				if what == "swapped outcome" {
					o, err := outcome(1).Canonical()
					if err != nil {
						t.Fatal(err)
					}
					m.Data = map[string]string{"outcome.json": string(o)}
				}
				calls["Outcomes"] = func() error { _, err := s.Outcomes(t.Context(), id); return err }
				calls["List"] = func() error { return listed(t, s, maps) }
			default:
				m.Name = name + "." + id.Hex()
				calls["Get"] = func() error { _, err := s.Get(t.Context(), id); return err }
				calls["Put"] = func() error { _, err := s.Put(t.Context(), record("devbox", 1)); return err }
			}
			m.Labels = labels
			if _, err := maps.Create(t.Context(), &m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			for call, f := range calls {
				if err := f(); !errors.Is(err, receipt.ErrCorrupt) || !strings.Contains(err.Error(), ns+"/"+m.Name) {
					t.Errorf("%s: %v, want ErrCorrupt of %s", call, err, m.Name)
				}
			}
		})
	}
}

// replaceDamaged replaces damaged pointers once, and returns what Pointers said
// of them.
func replaceDamaged(t *testing.T, s *kube.Store, id receipt.ID) error {
	t.Helper()
	bad, err := s.Pointers(t.Context())
	if bad.Version == "" || bad.Applied != "" || bad.Live != id {
		t.Errorf("Pointers beside the error: %+v", bad)
	}
	set, serr := s.SetPointers(t.Context(), bad, receipt.Pointers{Applied: id})
	if serr != nil || set.Applied != id || set.Live != "" {
		t.Errorf("SetPointers: %+v, %v", set, serr)
	}
	if _, serr := s.SetPointers(t.Context(), bad, receipt.Pointers{Applied: id}); !errors.Is(serr, receipt.ErrConflict) {
		t.Errorf("SetPointers twice: %v, want ErrConflict", serr)
	}
	return err
}

// TestPointersWithParts has parts of the pointers removed. What is left is
// read, and they are damaged, not new.
func TestPointersWithParts(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	repository := strings.Repeat("0a", 20)
	for what, tc := range map[string]struct {
		patch string
		left  func(p *receipt.Pointers)
	}{
		"all":                    {`{"data":null}`, func(p *receipt.Pointers) { p.Applied, p.Live, p.Repository = "", "", "" }},
		"applied":                {`{"data":{"applied":null}}`, func(p *receipt.Pointers) { p.Applied = "" }},
		"the value of applied":   {`{"data":{"applied":""}}`, func(p *receipt.Pointers) { p.Applied = "" }},
		"applied to elsewhere":   {`{"data":{"applied":null},"binaryData":{"applied":"eA=="}}`, func(p *receipt.Pointers) { p.Applied = "" }},
		"repository":             {`{"data":{"repository":null}}`, func(p *receipt.Pointers) { p.Repository = "" }},
		"all but the repository": {`{"data":{"applied":null,"live":null}}`, func(p *receipt.Pointers) { p.Applied, p.Live = "", "" }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ns := devtest.Namespace(t, c)
			s := open(t, c.Config(), ns, "devbox")
			id, err := s.Put(t.Context(), record("devbox", 1))
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.SetPointers(t.Context(), receipt.Pointers{}, receipt.Pointers{Applied: id, Live: id, Repository: repository})
			if err != nil {
				t.Fatal(err)
			}
			maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
			if _, err := maps.Patch(t.Context(), "pharos-devbox", types.MergePatchType, []byte(tc.patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			bad, err := s.Pointers(t.Context())
			want := p
			tc.left(&want)
			want.Version = bad.Version
			if !errors.Is(err, receipt.ErrCorrupt) || bad.Version == p.Version || bad != want {
				t.Fatalf("Pointers: %+v, %v, want ErrCorrupt and %+v", bad, err, want)
			}
			if set, err := s.SetPointers(t.Context(), bad, receipt.Pointers{Applied: id}); err != nil || set.Applied != id {
				t.Errorf("SetPointers: %+v, %v", set, err)
			}
			if now, err := s.Pointers(t.Context()); err != nil || now.Applied != id || now.Repository != "" {
				t.Errorf("afterwards: %+v, %v", now, err)
			}
		})
	}
}

// listed puts the receipt that the damaged outcome belongs to, and returns what
// a list says is wrong with it.
func listed(t *testing.T, s *kube.Store, maps typedcorev1.ConfigMapInterface) error {
	t.Helper()
	for n := range 2 {
		if _, err := s.Put(t.Context(), record("devbox", 1+n)); err != nil {
			t.Fatal(err)
		}
	}
	// A name that stands for no receipt is not one.
	labels := map[string]string{"pharos.dev/receipts-of": "devbox", "pharos.dev/receipt-part": "record"}
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine", Labels: labels}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l, err := s.List(t.Context())
	if err != nil || len(l) != 2 || l[0].Err != nil {
		t.Fatalf("List: %+v, %v", l, err)
	}
	return l[1].Err
}

// A server in trouble: what is safe to repeat is repeated, and the result is
// as if nothing had happened.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	faults := map[string]faultproxy.Rule{
		"429":         {Do: faultproxy.Answer(http.StatusTooManyRequests)},
		"429 wait":    {Do: faultproxy.TooManyRequests(time.Second)},
		"500":         {Do: faultproxy.Answer(http.StatusInternalServerError)},
		"504 done":    {Do: faultproxy.Answer(http.StatusGatewayTimeout), AfterUpstream: true},
		"request cut": {Do: faultproxy.Cut()},
		"answer cut":  {Do: faultproxy.Cut(), AfterUpstream: true},
	}
	for name, rule := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule.Match = every(2)
			config, fault := faulty(t, c.Config(), rule)
			s := open(t, config, devtest.Namespace(t, c), "devbox")
			ctx := t.Context()
			id, err := s.Put(ctx, record("devbox", 1))
			if err != nil {
				t.Fatalf("Put: %v", err)
			}
			for n := range 2 {
				if err := s.AddOutcome(ctx, id, outcome(n)); err != nil {
					t.Fatalf("AddOutcome: %v", err)
				}
			}
			var p receipt.Pointers
			for _, want := range []receipt.Pointers{{Applied: id}, {Applied: id, Live: id}, {Applied: id}} {
				if p, err = s.SetPointers(ctx, p, want); err != nil {
					t.Fatalf("SetPointers: %v", err)
				}
				if now, err := s.Pointers(ctx); err != nil || now != p || now.Applied != want.Applied {
					t.Errorf("pointers %v, %v, want %v", now, err, want)
				}
			}
			if r, err := s.Get(ctx, id); err != nil || !cmp.Equal(r, record("devbox", 1)) {
				t.Errorf("Get: %v, %v", r, err)
			}
			if o, err := s.Outcomes(ctx, id); err != nil || !slices.EqualFunc(o, []receipt.Outcome{outcome(0), outcome(1)}, func(a, b receipt.Outcome) bool { return cmp.Equal(a, b) }) {
				t.Errorf("Outcomes: %v, %v", o, err)
			}
			if l, err := s.List(ctx); err != nil || len(l) != 1 || l[0].Last == nil {
				t.Errorf("List: %v, %v", l, err)
			}
			if fault.Hits() < 10 {
				t.Errorf("only %d requests failed", fault.Hits())
			}
		})
	}
	t.Run("never answers well", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"429", "500", "504 done", "request cut", "answer cut"} {
			config, _ := faulty(t, c.Config(), faults[name])
			s := open(t, config, devtest.Namespace(t, c), "devbox")
			_, err := s.Put(t.Context(), record("devbox", 1))
			var e *kube.Error
			if !errors.As(err, &e) || e.Op != "write receipt" {
				t.Errorf("%s: Put: %v, want a *kube.Error", name, err)
			}
		}
	})
	t.Run("pointers race with lost answers", func(t *testing.T) {
		t.Parallel()
		ns := devtest.Namespace(t, c)
		third := every(3)
		config, fault := faulty(t, c.Config(), faultproxy.Rule{
			Match:         func(r *http.Request) bool { return r.Method != http.MethodGet && third(r) },
			AfterUpstream: true, Do: faultproxy.Cut(),
		})
		const writers = 6
		var p receipt.Pointers
		for round := range 4 {
			type result struct {
				p   receipt.Pointers
				err error
			}
			results := make(chan result, writers)
			for w := range writers {
				s := open(t, config, ns, "devbox")
				id, err := record("devbox", w).ID()
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					p, err := s.SetPointers(t.Context(), p, receipt.Pointers{Applied: id})
					results <- result{p, err}
				}()
			}
			var won []receipt.Pointers
			for range writers {
				r := <-results
				switch {
				case r.err == nil:
					won = append(won, r.p)
				case !errors.Is(r.err, receipt.ErrConflict):
					t.Errorf("round %d: %v, want ErrConflict", round, r.err)
				}
			}
			if len(won) != 1 {
				t.Fatalf("round %d: %d writers won, want 1", round, len(won))
			}
			p = won[0]
		}
		if fault.Hits() < 4 {
			t.Errorf("only %d answers were lost", fault.Hits())
		}
	})
}

// every matches the first of each n requests.
func every(n int) func(*http.Request) bool {
	seen := 0
	return func(*http.Request) bool {
		seen++
		return seen%n == 1
	}
}

// faulty returns a copy of the configuration that goes through a proxy with a
// fault.
func faulty(t *testing.T, config *rest.Config, rule faultproxy.Rule) (*rest.Config, *faultproxy.Fault) {
	t.Helper()
	proxy, err := faultproxy.ForCluster(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy.Config(config), proxy.Add(rule)
}
