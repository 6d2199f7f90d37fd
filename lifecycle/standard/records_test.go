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
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/dir"
)

// records is how a target is recorded, and how its records can be damaged.
type records struct {
	lifecycle func() *lifecycle.Lifecycle
	store     receipt.Store
	// remove removes a receipt, spoil has it hold something else, misdirect
	// makes the pointers unreadable, empty takes their content, and lose removes
	// them.
	remove, spoil          func(receipt.ID)
	misdirect, empty, lose func()
}

func inCluster(t *testing.T, s *shop) records {
	c := devtest.Cluster(t)
	configMaps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace)
	store, err := standard.NewReceipts(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	name := func(id receipt.ID) string { return "pharos-" + s.target().Name + "." + id.Hex() }
	remove := func(id receipt.ID) {
		if err := configMaps.Delete(t.Context(), name(id), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch := func(data string) {
		if _, err := configMaps.Patch(t.Context(), "pharos-"+s.target().Name, types.MergePatchType, []byte(data), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return records{
		lifecycle: func() *lifecycle.Lifecycle { return s.lifecycle(c.Config()) }, store: store, remove: remove,
		spoil: func(id receipt.ID) {
			m, err := configMaps.Get(t.Context(), name(id), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			remove(id)
			m.ResourceVersion, m.UID, m.Data = "", "", map[string]string{"record.json": "{}"}
			if _, err := configMaps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		misdirect: func() { patch(`{"data":{"applied":"main"}}`) },
		empty:     func() { patch(`{"data":null}`) },
		lose: func() {
			if err := configMaps.Delete(t.Context(), "pharos-"+s.target().Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func inFolder(t *testing.T, s *shop) records {
	c := devtest.Cluster(t)
	folder := t.TempDir()
	store, err := dir.New(dir.Config{Dir: folder, Target: s.target().Name})
	if err != nil {
		t.Fatal(err)
	}
	f := filesOf{t, folder}
	return records{
		lifecycle: func() *lifecycle.Lifecycle {
			cfg, err := standard.Config(s.target(), s.options(c.Config()))
			if err != nil {
				t.Fatal(err)
			}
			cfg.Receipts = store
			l, err := lifecycle.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		store: store, remove: f.remove, spoil: f.spoil, misdirect: f.misdirect, empty: f.empty, lose: f.lose,
	}
}

// TestRecordsThatCannotBeRead wants a way out of damaged records that a person
// has to choose, and everything to be right afterwards.
func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for where, open := range map[string]func(*testing.T, *shop) records{"cluster": inCluster, "folder": inFolder} {
		for what, damage := range map[string]func(records, receipt.ID){
			"applied receipt deleted": func(r records, id receipt.ID) { r.remove(id) },
			"applied receipt spoilt":  func(r records, id receipt.ID) { r.spoil(id) },
			"pointers spoilt":         func(r records, _ receipt.ID) { r.misdirect() },
			"pointers emptied":        func(r records, _ receipt.ID) { r.empty() },
			"pointers deleted":        func(r records, _ receipt.ID) { r.lose() },
		} {
			t.Run(where+"/"+what, func(t *testing.T) {
				t.Parallel()
				c := devtest.Cluster(t)
				s := newShop(t, c)
				r := open(t, s)
				first, err := r.lifecycle().Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
				if err != nil {
					t.Fatal(err)
				}
				s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: CHF}\n"})
				s.commit("Change the currency")
				second, err := r.lifecycle().Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
				if err != nil {
					t.Fatal(err)
				}
				damage(r, second.Receipt)

				st, err := r.lifecycle().Status(t.Context())
				if err != nil || st.IsLive() || len(st.Unreadable) == 0 {
					t.Fatalf("status %+v, %v; want what cannot be read", st, err)
				}
				if u := st.Unreadable[0]; !errors.Is(u.Err, receipt.ErrCorrupt) && !errors.Is(u.Err, receipt.ErrNotFound) || u.What == "" {
					t.Errorf("unreadable: %+v", u)
				}
				_, err = r.lifecycle().Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
				if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), st.Unreadable[0].What) || !strings.Contains(err.Error(), "--adopt") {
					t.Fatalf("reconcile: %v, want an ErrBlocked that names what cannot be read and the way out", err)
				}
				if again, err := r.lifecycle().Status(t.Context()); err != nil || len(again.Unreadable) != len(st.Unreadable) || again.Lease.Token != st.Lease.Token {
					t.Errorf("the refusal changed something: %+v, %v", again, err)
				}

				adopted, err := r.lifecycle().Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Adopt: true})
				if err != nil {
					t.Fatalf("reconcile with Adopt: %v", err)
				}
				if adopted.Plan.Decision != lifecycle.DecideDeliver || !strings.Contains(strings.Join(adopted.Plan.Reasons, "\n"), "cannot be read") {
					t.Errorf("decided %s: %s", adopted.Plan.Decision, strings.Join(adopted.Plan.Reasons, "; "))
				}
				if adopted.Receipt == first.Receipt || adopted.Receipt == second.Receipt {
					t.Errorf("receipt %s, want a new one", adopted.Receipt)
				}
				rec, err := r.store.Get(t.Context(), adopted.Receipt)
				if err != nil {
					t.Fatal(err)
				}
				if want := second.Receipt; !strings.HasPrefix(what, "pointers") && rec.Parent != want {
					t.Errorf("its parent is %s, want the one that was applied, %s", rec.Parent, want)
				}
				again, err := r.lifecycle().Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
				if err != nil || again.Plan.Decision != lifecycle.DecideUnchanged {
					t.Errorf("afterwards: %+v, %v", again.Plan, err)
				}
				if st, err := r.lifecycle().Status(t.Context()); err != nil || !st.IsLive() || st.Live.ID != adopted.Receipt {
					t.Errorf("afterwards: %+v, %v", st, err)
				}
			})
		}
	}
}

// TestLiveReceiptThatCannotBeRead delivers without asking: what the target was
// told is known.
func TestLiveReceiptThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	first := s.reconcile(c.Config())
	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", "      nodeSelector: {no: such-node}\n")})
	s.commit("Ask for a node that is not there")
	if _, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Timeout: 1}); !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Fatal(err)
	}
	inCluster(t, s).spoil(first.Receipt)
	if st := s.status(c.Config()); st.Applied == nil || st.Live != nil || len(st.Unreadable) != 1 {
		t.Fatalf("status %+v", st)
	}
	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", "")})
	s.commit("Take it back")
	s.reconcile(c.Config())
	if !s.status(c.Config()).IsLive() {
		t.Error("not live afterwards")
	}
}

// TestReservedObjects refuses an overlay that names Pharos's own records before
// anything is written.
func TestReservedObjects(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	for what, manifest := range map[string]string{
		"the pointers": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pharos-$NAME}\ndata: {applied: sha256:0}\n",
		"a receipt":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pharos-$NAME." + strings.Repeat("0", 64) + "}\n",
		"another's":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pharos-staging}\n",
		"the lease":    "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: pharos-$NAME}\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, c)
			s.write(map[string]string{"gitops/settings.yaml": strings.ReplaceAll(manifest, "$NAME", s.namespace)})
			s.commit("Name what is not ours")
			for _, dry := range []lifecycle.DryRun{lifecycle.DryRunClient, lifecycle.DryRunServer, lifecycle.DryRunNone} {
				cfg, requests := devtest.Count(c.Config())
				_, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: dry})
				if !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), s.namespace+"/pharos-") {
					t.Errorf("dry run %q: %v, want an ErrSource that names the object", dry, err)
				}
				onlyReads(t, requests)
			}
		})
	}
}

// TestRepositories binds a target to the repository that delivered to it first.
func TestRepositories(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	deliver := func(s *shop, adopt bool) (lifecycle.ReconcileResult, error) {
		t.Helper()
		return s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Adopt: adopt})
	}
	root := s.git("rev-parse", "HEAD")
	s.write(map[string]string{"README.md": "# The shop\n"})
	s.commit("Say more")
	if _, err := deliver(s, false); err != nil {
		t.Fatal(err)
	}
	store, err := standard.NewReceipts(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	owner := func() string {
		t.Helper()
		p, err := store.Pointers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p.Repository
	}
	if owner() != root {
		t.Fatalf("the target belongs to %q, want the first commit, %s", owner(), root)
	}

	// Another repository with a target of the same name.
	other := &shop{t: t, dir: t.TempDir(), namespace: s.namespace, registry: s.registry}
	other.git("init", "-q", "-b", "main")
	files := map[string]string{}
	for _, name := range strings.Fields(s.git("ls-files")) {
		files[name] = s.git("show", "HEAD:"+name) + "\n"
	}
	other.write(files)
	other.commit("Another shop")
	before := s.status(c.Config())
	_, err = deliver(other, false)
	if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "--adopt") || !strings.Contains(err.Error(), root) {
		t.Fatalf("another repository: %v, want an ErrBlocked", err)
	}
	if now := s.status(c.Config()); now.Applied.ID != before.Applied.ID || now.Lease.Token != before.Lease.Token {
		t.Errorf("the refusal changed something: %+v", now)
	}
	if _, err := other.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: other.head()}); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("without a repository: %v, want an ErrBlocked", err)
	}

	// The same one, in a clone that is shallow, and in one that is not.
	clone := func(args ...string) *shop {
		t.Helper()
		dir := t.TempDir()
		s.git(slices.Concat([]string{"clone", "-q"}, args, []string{"file://" + s.dir, dir})...)
		return &shop{t: t, dir: dir, namespace: s.namespace, registry: s.registry}
	}
	for name, args := range map[string][]string{"whole": nil, "shallow": {"--depth=1"}} {
		if res, err := deliver(clone(args...), false); err != nil || res.Plan.Decision != lifecycle.DecideUnchanged {
			t.Errorf("a %s clone: %+v, %v", name, res.Plan, err)
		}
	}

	if _, err := deliver(other, true); err != nil {
		t.Fatalf("adopt: %v", err)
	}
	if want := other.git("rev-parse", "HEAD"); owner() != want {
		t.Errorf("after the adoption the target belongs to %s, want %s", owner(), want)
	}
	if _, err := deliver(s, false); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("the one before: %v, want an ErrBlocked", err)
	}
}
