package lock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/lock"
)

func compare(t *testing.T, tree source.Tree, o lock.Options) *lock.Report {
	t.Helper()
	if o.Resolver == nil {
		o.Resolver = newResolver(t, nil)
	}
	r, err := lock.Compare(t.Context(), tree, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantEntries(t *testing.T, r *lock.Report, want ...lock.Entry) {
	t.Helper()
	if diff := cmp.Diff(want, r.Entries, cmpopts.IgnoreFields(lock.Entry{}, "Err"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func wantLocked(t *testing.T, r *lock.Report, want map[string]string) {
	t.Helper()
	if got := r.Lock().Images; !maps.Equal(got, want) {
		t.Errorf("the lock is %v, want %v", got, want)
	}
}

// Every state at once, and what is asked for.
func TestCompare(t *testing.T) {
	t.Parallel()
	host := devtest.Registry(t)
	same, moved, missing, front, gone := host+"/same:1", host+"/moved:1", host+"/missing", host+"/front:1", host+"/gone:1"
	sameNow, movedNow := move(t, same, "linux/amd64"), move(t, moved, "linux/amd64")
	missingNow, frontNow := move(t, missing, "linux/amd64"), move(t, front, "linux/amd64")
	tree := newTree("# syntax="+front+"\nFROM "+missing+"\nCOPY --from="+same+" a b\n",
		locked(t, same, string(sameNow), moved, old, gone, old),
		goImage("api", moved), goImage("admin", moved), dockerImage("web"))

	entries := func(movedState lock.State, digest, previous lifecycle.Digest) []lock.Entry {
		return []lock.Entry{
			{Reference: front, State: lock.Missing, Digest: frontNow, Images: []string{"web"}},
			{Reference: gone, State: lock.Unused, Previous: lifecycle.Digest(old)},
			{Reference: missing, State: lock.Missing, Digest: missingNow, Images: []string{"web"}},
			{Reference: moved, State: movedState, Digest: digest, Previous: previous, Images: []string{"admin", "api"}},
			{Reference: same, State: lock.Unchanged, Digest: sameNow, Images: []string{"web"}},
		}
	}
	for _, tt := range []struct {
		name  string
		o     lock.Options
		moves bool
		asked int
	}{
		{"what is missing", lock.Options{}, false, 2},
		{"everything", lock.Options{All: true}, true, 4},
		{"one that moved", lock.Options{References: []string{moved}}, true, 3},
		{"one that did not", lock.Options{References: []string{same}, Jobs: 1}, false, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var answers []int
			tt.o.Progress = func(done, all int) {
				if answers = append(answers, done); all != tt.asked {
					t.Errorf("%d references are to be asked for, want %d", all, tt.asked)
				}
			}
			r := compare(t, tree, tt.o)
			want := map[string]string{same: string(sameNow), moved: old, missing: string(missingNow), front: string(frontNow)}
			if tt.moves {
				wantEntries(t, r, entries(lock.Moved, movedNow, lifecycle.Digest(old))...)
				want[moved] = string(movedNow)
			} else {
				wantEntries(t, r, entries(lock.Unchanged, lifecycle.Digest(old), "")...)
			}
			wantLocked(t, r, want)
			if !r.Differs() {
				t.Error("the lock is as it should be")
			}
			if len(answers) != tt.asked || !slices.IsSorted(answers) {
				t.Errorf("answers were counted as %v, want %d", answers, tt.asked)
			}
		})
	}
}

// A lock that is as it should be needs no registry.
func TestNothingToAsk(t *testing.T) {
	t.Parallel()
	for _, tree := range []source.Tree{
		newTree("", locked(t, "registry.invalid/base:1", old), goImage("api", "registry.invalid/base:1")),
		newTree("", "", goImage("api", "registry.invalid/base@"+old), goImage("web", "api"), goImage("job", "scratch")),
	} {
		r := compare(t, tree, lock.Options{Resolver: noResolver{}, Progress: func(int, int) { t.Error("there is progress") }})
		if r.Differs() {
			t.Errorf("it differs: %v", r.Entries)
		}
	}
}

// noResolver is no registry at all.
type noResolver struct{ lock.Resolver }

func TestPlatforms(t *testing.T) {
	t.Parallel()
	host := devtest.Registry(t)
	base := host + "/base:1"
	now := move(t, base, "linux/amd64", "linux/arm64")
	for _, tt := range []struct {
		name  string
		image string
		lacks []string
		fails bool
	}{
		{"all", goImage("api", base, "linux/arm64", "linux/amd64"), nil, false},
		{"a variant", goImage("api", base, "linux/amd64/v3"), nil, false},
		{"none", goImage("api", base, "linux/s390x", "linux/amd64", "linux/riscv64"), []string{"linux/riscv64", "linux/s390x"}, true},
		{"none, for a stage", dockerImage("api", "linux/s390x", "linux/amd64"), []string{"linux/s390x"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := lock.Compare(t.Context(), newTree("FROM "+base+"\n", "", tt.image), lock.Options{Resolver: newResolver(t, nil)})
			if !tt.fails {
				if err != nil {
					t.Fatal(err)
				}
				wantEntries(t, r, lock.Entry{Reference: base, State: lock.Missing, Digest: now, Images: []string{"api"}, Lacks: tt.lacks})
				return
			}
			wantEntries(t, r, lock.Entry{Reference: base, State: lock.Failed, Images: []string{"api"}, Lacks: tt.lacks})
			wrong, ok := errors.AsType[*lock.PlatformError](err)
			if !ok || wrong.Digest != now || !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), strings.Join(tt.lacks, ", ")) {
				t.Errorf("got the error %v", err)
			}
		})
	}
}

// All failures are reported together, and the lock is what it was.
func TestFailures(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	proxy, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	fine, broken, secret, none := proxy.Host()+"/fine:1", proxy.Host()+"/broken:1", proxy.Host()+"/secret:1", proxy.Host()+"/none:1"
	for _, ref := range []string{fine, broken, secret} {
		move(t, ref, "linux/amd64")
	}
	proxy.Add(faultproxy.Rule{Path: regexp.MustCompile("/broken/manifests/"), Do: faultproxy.Answer(http.StatusNotImplemented)})
	proxy.Add(faultproxy.Rule{Path: regexp.MustCompile("/secret/manifests/"), Do: faultproxy.Answer(http.StatusForbidden)})
	keychain := keychain{authn.FromConfig(authn.AuthConfig{Username: "me", Password: password})}
	tree := newTree("", locked(t, broken, old), goImage("a", fine), goImage("b", broken), goImage("c", secret), goImage("d", none))

	r, err := lock.Compare(t.Context(), tree, lock.Options{Resolver: newResolver(t, keychain), All: true})
	failed, ok := errors.AsType[*lock.FailedError](err)
	if !ok || failed.Of != 4 || len(failed.Entries) != 3 || r.Count(lock.Missing) != 1 {
		t.Fatalf("got %v and the error %v", r, err)
	}
	for _, target := range []error{lifecycle.ErrUnreachable, lifecycle.ErrImageNotFound, lifecycle.ErrSource} {
		if !errors.Is(err, target) {
			t.Errorf("it is not %q: %v", target, err)
		}
	}
	for _, words := range []string{
		"3 of the 4 references cannot be locked:", "\n  " + broken + ", for b: ", "\n  " + secret + ", for c: ", "403 Forbidden", "\nAsk for access to ",
		"\n  " + none + ", for d: image not found in the registry",
	} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("it does not say %q: %v", words, err)
		}
	}
	if strings.Contains(err.Error(), password) {
		t.Errorf("it holds the password: %v", err)
	}
	if r.Lock().Images[broken] != old {
		t.Errorf("the lock holds %s for what failed", r.Lock().Images[broken])
	}
	dir := t.TempDir()
	changed, err := r.Write(dir)
	if changed || !errors.As(err, &failed) {
		t.Errorf("written: %t, error %v", changed, err)
	}
	wantFiles(t, dir)
}

type keychain struct{ auth authn.Authenticator }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) { return k.auth, nil }

func TestCompareEndsWithTheContext(t *testing.T) {
	t.Parallel()
	proxy, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	stalled := proxy.Add(faultproxy.Rule{Method: http.MethodHead, Do: faultproxy.Stall()})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	failed := make(chan error)
	go func() {
		_, err := lock.Compare(ctx, newTree("", "", goImage("api", proxy.Host()+"/base:1")), lock.Options{Resolver: newResolver(t, nil)})
		failed <- err
	}()
	<-stalled.Reached()
	why := errors.New("the user pressed Ctrl-C")
	cancel(why)
	if err := <-failed; !errors.Is(err, why) || errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got the error %v, want the context's cause", err)
	}
}

// Registries are asked in parallel: none answers before all were asked.
func TestInParallel(t *testing.T) {
	t.Parallel()
	const n = 8
	proxy, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	var images []string
	for i := range n {
		base := fmt.Sprintf("%s/base-%d:1", proxy.Host(), i)
		move(t, base, "linux/amd64")
		images = append(images, goImage(fmt.Sprintf("image-%d", i), base))
	}
	asked, all := 0, make(chan struct{})
	stall := proxy.Add(faultproxy.Rule{Method: http.MethodHead, Do: faultproxy.Stall(), Match: func(*http.Request) bool {
		if asked++; asked == n {
			close(all)
		}
		return asked <= n
	}})
	go func() {
		<-all
		stall.Remove()
	}()
	r := compare(t, newTree("", "", images...), lock.Options{Jobs: n})
	if r.Count(lock.Missing) != n {
		t.Errorf("%d are missing, want %d", r.Count(lock.Missing), n)
	}
}

func TestWrongTrees(t *testing.T) {
	t.Parallel()
	conflict := "<<<<<<< HEAD\n" + locked(t, "base:1", old)
	for _, tt := range []struct {
		name  string
		tree  source.Tree
		o     lock.Options
		words []string
	}{
		{"no catalogue", must(source.FromFiles(map[string]source.File{"a": {}})), lock.Options{}, []string{"read pharos.yaml"}},
		{"a lock in conflict", newTree("", conflict, goImage("api", "base:1")), lock.Options{All: true},
			[]string{"read pharos.lock: pharos.lock:", "made anew: kubectl pharos lock --update"}},
		{"no Dockerfile", newTree("", "", dockerImage("web"), goImage("api", "base:1")), lock.Options{}, []string{"find the references", "web"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.o.Resolver = noResolver{}
			r, err := lock.Compare(t.Context(), tt.tree, tt.o)
			if r != nil || !errors.Is(err, lifecycle.ErrSource) {
				t.Fatalf("got %v and the error %v", r, err)
			}
			for _, words := range tt.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("it does not say %q: %v", words, err)
				}
			}
		})
	}
}

func must(tree source.Tree, err error) source.Tree {
	if err != nil {
		panic(err)
	}
	return tree
}

func TestReferencesThatNobodyUses(t *testing.T) {
	t.Parallel()
	tree := newTree("", "", goImage("api", "base:1"), goImage("web", "base:2"))
	_, err := lock.Compare(t.Context(), tree, lock.Options{Resolver: noResolver{}, References: []string{"base", "base:1", "docker.io/library/base:2"}})
	unused, ok := errors.AsType[*lock.UnusedError](err)
	if !ok || !slices.Equal(unused.References, []string{"base", "docker.io/library/base:2"}) || !strings.Contains(err.Error(), "those in use are base:1, base:2") {
		t.Errorf("got the error %v", err)
	}
}

// Anew, a lock that cannot be read is replaced by one that can.
func TestAnew(t *testing.T) {
	t.Parallel()
	base := devtest.Registry(t) + "/base:1"
	now := move(t, base, "linux/amd64")
	text := "<<<<<<< HEAD\n" + locked(t, base, old)
	r := compare(t, newTree("", text, goImage("api", base)), lock.Options{All: true, Anew: true})
	wantEntries(t, r, lock.Entry{Reference: base, State: lock.Missing, Digest: now, Images: []string{"api"}})
	dir := t.TempDir()
	write(t, dir, text)
	if changed, err := r.Write(dir); !changed || err != nil {
		t.Errorf("written: %t, error %v", changed, err)
	}
	wantFiles(t, dir, locked(t, base, string(now)))
	if r := compare(t, newTree("", "# empty\n", goImage("api", "scratch")), lock.Options{Resolver: noResolver{}, Anew: true}); !r.Differs() {
		t.Error("a lock that cannot be read is as it should be")
	}
}

// A server that never answers ends with the caller's deadline, which says so.
func TestDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err := lock.Compare(ctx, newTree("", "", goImage("api", "registry.invalid/base:1")), lock.Options{Resolver: newResolver(t, nil)})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got the error %v, want the deadline", err)
	}
}

// A registry that never answers takes nothing from the others.
func TestTimeout(t *testing.T) {
	t.Parallel()
	host := devtest.Registry(t)
	proxy, err := faultproxy.Start("http://"+host, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.Add(faultproxy.Rule{Method: http.MethodHead, Do: faultproxy.Stall()})
	fine, stalled := host+"/base:1", proxy.Host()+"/base:1"
	now := move(t, fine, "linux/amd64")
	r, err := lock.Compare(t.Context(), newTree("", locked(t, fine, string(now)), goImage("a", fine), goImage("b", stalled)),
		lock.Options{Resolver: newResolver(t, nil), Timeout: 10 * time.Millisecond})
	failed, ok := errors.AsType[*lock.FailedError](err)
	if !ok || len(failed.Entries) != 1 || !errors.Is(err, lifecycle.ErrUnreachable) ||
		!strings.HasSuffix(err.Error(), "\n  "+stalled+", for b: there was no answer within 10ms") {
		t.Fatalf("got the error %v", err)
	}
	if r.Lock().Images[fine] != string(now) {
		t.Errorf("the other one is %v", r.Entries)
	}
}

// What no image uses may be in use elsewhere, and is held and moved as theirs are.
func TestUsedElsewhere(t *testing.T) {
	t.Parallel()
	host := devtest.Registry(t)
	base, tool, held := host+"/base:1", host+"/tool:1", host+"/held:1"
	baseNow, toolNow := move(t, base, "linux/amd64"), move(t, tool, "linux/arm64")
	tree := newTree("", locked(t, held, old), goImage("api", base))
	more := map[string][]string{base: {"target b", "target a"}, tool: {"target a"}, held: {"target b"}}
	wantEntries(t, compare(t, tree, lock.Options{More: more}),
		lock.Entry{Reference: base, State: lock.Missing, Digest: baseNow, Images: []string{"api"}, Users: []string{"target a", "target b"}},
		lock.Entry{Reference: held, State: lock.Unchanged, Digest: lifecycle.Digest(old), Users: []string{"target b"}},
		lock.Entry{Reference: tool, State: lock.Missing, Digest: toolNow, Users: []string{"target a"}})
	heldNow := move(t, held, "linux/amd64")
	r := compare(t, tree, lock.Options{More: more, References: []string{held}})
	wantLocked(t, r, map[string]string{base: string(baseNow), tool: string(toolNow), held: string(heldNow)})
	more[host+"/gone:1"] = []string{"target c"}
	_, err := lock.Compare(t.Context(), tree, lock.Options{Resolver: newResolver(t, nil), More: more})
	if err == nil || !strings.Contains(err.Error(), "/gone:1, for target c: ") {
		t.Errorf("got %v, want that it names the target", err)
	}
}
