package kube_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

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
