package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// object reads the Lease as an administrator sees it.
func (w *world) object(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	l, err := devtest.Client(t, w.cluster.Config()).CoordinationV1().Leases(w.namespace).Get(t.Context(), "pharos-devbox", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// edit changes the Lease as somebody with kubectl does.
func (w *world) edit(t *testing.T, change func(*coordinationv1.Lease)) {
	t.Helper()
	l := w.object(t)
	change(l)
	if _, err := devtest.Client(t, w.cluster.Config()).CoordinationV1().Leases(w.namespace).Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) delete(t *testing.T) {
	t.Helper()
	if err := devtest.Client(t, w.cluster.Config()).CoordinationV1().Leases(w.namespace).Delete(t.Context(), "pharos-devbox", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A token that cannot grow is said, with the way out, and is not made negative.
func TestTokenThatIsUsedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := manager(t, w.config(w.server))
	held, err := m.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver})
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.edit(t, func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = ptr.To[int32](math.MaxInt32) })
	_, err = m.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver})
	var e *lease.Error
	if !errors.As(err, &e) || !strings.Contains(e.Advice, "kubectl delete lease --namespace "+w.namespace+" pharos-devbox") {
		t.Fatalf("Acquire: %v, want an Error that says how to begin anew", err)
	}
	if got := *w.object(t).Spec.LeaseTransitions; got != math.MaxInt32 {
		t.Errorf("the token is %d", got)
	}
	w.delete(t)
	if _, err := m.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver}); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// From acquisition to release and the next one, with the documented rights and
// no others, and as many calls as documented.
func TestAcquireAndRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(w.server)
	user, _ := devtest.User(t, w.cluster, w.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"},
	}}})
	counted, counter := devtest.Count(withServerTime(user, w.server.Now))
	config.REST = counted
	m := manager(t, config)
	calls := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, r := range counter.Requests() {
			got = append(got, r.Method)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls of %s:\n%s", what, diff)
		}
		counter.Reset()
	}
	start := w.server.Now()

	if s := inspect(t, m); !cmp.Equal(s, lease.State{Now: start}) {
		t.Errorf("a lease that never was: %+v", s)
	}
	calls("Inspect", "GET")

	h := acquire(t, m, borrow)
	calls("the first Acquire", "GET", "POST", "PUT")
	want := lease.State{
		Held: true, Mode: lease.ModeBorrow, Holder: h.Holder(), User: "bob@desk", Covers: []string{"api", "web"},
		Acquired: start, Renewed: start, Expires: start.Add(20 * time.Minute), Token: first, Now: start,
	}
	if diff := cmp.Diff(want, h.State()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, inspect(t, m)); diff != "" {
		t.Error(diff)
	}
	if h.Holder() == "" || h.Token() != first || !h.Deadline().Equal(start.Add(20*time.Minute-3*time.Second)) {
		t.Errorf("holder %q, token %d, deadline %s", h.Holder(), h.Token(), h.Deadline())
	}
	counter.Reset()

	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	calls("Check", "GET")

	w.server.advance(time.Minute)
	if err := h.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	calls("Renew", "GET", "PUT")
	want.Renewed, want.Expires, want.Now = start.Add(time.Minute), start.Add(21*time.Minute), start.Add(time.Minute)
	if diff := cmp.Diff(want, h.State()); diff != "" {
		t.Error(diff)
	}
	if err := h.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	calls("Renew in the same second", "GET")

	_, err := m.Acquire(t.Context(), deliver)
	var held *lease.HeldError
	if !errors.As(err, &held) || !errors.Is(err, lease.ErrHeld) {
		t.Fatalf("Acquire of a lease that is held: %v", err)
	}
	if diff := cmp.Diff(&lease.HeldError{Target: "devbox", State: want, Now: want.Now}, held); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(err.Error(), "held by bob@desk in mode borrow until 2026-03-04T05:27:07Z (20m0s left)") {
		t.Error(err)
	}
	calls("Acquire of a lease that is held", "GET")

	again, err := m.Resume(t.Context(), h.Holder())
	if err != nil || again.Token() != first {
		t.Errorf("Resume: %v, %v", again, err)
	}
	calls("Resume", "GET")
	if _, err := m.Resume(t.Context(), "somebody"); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Resume of somebody else: %v, want ErrLost", err)
	}
	counter.Reset()

	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
	calls("Release", "PUT")
	if s := inspect(t, m); !cmp.Equal(s, lease.State{Token: first, Now: w.server.Now()}) {
		t.Errorf("after release: %+v", s)
	}
	for name, f := range map[string]func(context.Context) error{"Check": h.Check, "Renew": h.Renew, "Check of the resumed": again.Check} {
		if err := f(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s after release: %v, want ErrLost", name, err)
		}
	}

	next := acquire(t, m, deliver)
	if next.Token() != first+1 || next.Holder() == h.Holder() {
		t.Errorf("token %d, holder %s, want %d and another than %s", next.Token(), next.Holder(), first+1, h.Holder())
	}
	for name, old := range map[string]*lease.Held{"the old holder": h, "the resumed one": again} {
		if err := old.Release(t.Context()); err != nil {
			t.Errorf("%s: a second Release: %v", name, err)
		}
	}
	if err := next.Check(t.Context()); err != nil {
		t.Errorf("after a second Release of the old holder: %v", err)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	h := acquire(t, m, borrow)
	l := w.object(t)
	if diff := cmp.Diff(map[string]string{
		"pharos.dev/lease-mode":    "borrow",
		"pharos.dev/lease-user":    "bob@desk",
		"pharos.dev/lease-covers":  `["api","web"]`,
		"pharos.dev/lease-expires": "2026-03-04T05:26:07Z",
	}, l.Annotations); diff != "" {
		t.Error(diff)
	}
	start := metav1.NewMicroTime(w.server.Now())
	if diff := cmp.Diff(coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To(h.Holder()), AcquireTime: &start, RenewTime: &start,
		LeaseDurationSeconds: ptr.To(int32(1200)), LeaseTransitions: ptr.To[int32](first),
	}, l.Spec); diff != "" {
		t.Error(diff)
	}
	// What others put there stays, through release and acquisition.
	w.edit(t, func(l *coordinationv1.Lease) { l.Annotations["team"] = "shop"; l.Labels["team"] = "shop" })
	if err := h.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	l = w.object(t)
	if diff := cmp.Diff(map[string]string{"team": "shop"}, l.Annotations); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(coordinationv1.LeaseSpec{LeaseTransitions: ptr.To[int32](first)}, l.Spec); diff != "" {
		t.Error(diff)
	}
	acquire(t, m, maintain)
	l = w.object(t)
	if l.Labels["team"] != "shop" || l.Spec.LeaseDurationSeconds != nil || *l.Spec.LeaseTransitions != first+1 {
		t.Errorf("labels %v, spec %v", l.Labels, l.Spec)
	}
}

// A maintenance ends when it is released, however long that takes.
func TestMaintain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	h := acquire(t, m, maintain)
	w.server.advance(1000 * time.Hour)
	if err := h.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if s := inspect(t, m); !s.Held || !s.Expires.IsZero() || !h.Deadline().IsZero() {
		t.Errorf("%+v, deadline %s", s, h.Deadline())
	}
	_, err := m.Acquire(t.Context(), deliver)
	if !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "until it is released: new disks") {
		t.Error(err)
	}
	later, err := m.Resume(t.Context(), h.Holder())
	if err != nil {
		t.Fatal(err)
	}
	if err := later.Release(t.Context()); err != nil {
		t.Error(err)
	}
	timed := maintain
	timed.For = time.Hour
	if s := acquire(t, m, timed).State(); !s.Expires.Equal(w.server.Now().Add(time.Hour)) {
		t.Errorf("%+v", s)
	}
}

func TestNoNamespace(t *testing.T) {
	t.Parallel()
	w := &world{cluster: devtest.Cluster(t), namespace: fmt.Sprintf("pharos-none-%d", rand.Int()), server: newClock()}
	m := w.manager(t)
	if s := inspect(t, m); s.Held || s.Token != 0 {
		t.Errorf("%+v", s)
	}
	_, err := m.Acquire(t.Context(), deliver)
	var e *lease.Error
	if !errors.Is(err, lease.ErrNoNamespace) || !errors.As(err, &e) || !strings.Contains(e.Advice, "kubectl create namespace pharos-none") {
		t.Errorf("%v, want ErrNoNamespace and what to do", err)
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(w.server)
	user, name := devtest.User(t, w.cluster, w.namespace, devtest.Rights{})
	config.REST = user
	m := manager(t, config)
	_, err := m.Acquire(t.Context(), deliver)
	var e *lease.Error
	if !apierrors.IsForbidden(err) || !errors.As(err, &e) || e.Advice == "" || !strings.Contains(err.Error(), name) {
		t.Errorf("Acquire: %v, want who is forbidden what, and what to do", err)
	}
	if _, err := m.Inspect(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("Inspect: %v, want forbidden", err)
	}
}

// Whatever others write into the Lease refuses too much rather than too little.
func TestForeignLease(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec func(now time.Time) coordinationv1.LeaseSpec
		note map[string]string
		held bool
	}{
		"no end": {spec: func(time.Time) coordinationv1.LeaseSpec {
			return coordinationv1.LeaseSpec{HolderIdentity: ptr.To("x")}
		}, held: true},
		"no duration": {spec: func(now time.Time) coordinationv1.LeaseSpec {
			return coordinationv1.LeaseSpec{HolderIdentity: ptr.To("x"), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-time.Hour)))}
		}, held: true},
		"no renewal": {spec: func(time.Time) coordinationv1.LeaseSpec {
			return coordinationv1.LeaseSpec{HolderIdentity: ptr.To("x"), LeaseDurationSeconds: ptr.To(int32(1))}
		}, held: true},
		"running": {spec: func(now time.Time) coordinationv1.LeaseSpec {
			return coordinationv1.LeaseSpec{HolderIdentity: ptr.To("x"), LeaseDurationSeconds: ptr.To(int32(10)), RenewTime: ptr.To(metav1.NewMicroTime(now))}
		}, note: map[string]string{"pharos.dev/lease-covers": "[", "pharos.dev/lease-mode": "steal"}, held: true},
		"over": {spec: func(now time.Time) coordinationv1.LeaseSpec {
			return coordinationv1.LeaseSpec{HolderIdentity: ptr.To("x"), LeaseDurationSeconds: ptr.To(int32(10)), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-time.Minute)))}
		}},
		"nobody": {spec: func(time.Time) coordinationv1.LeaseSpec { return coordinationv1.LeaseSpec{HolderIdentity: ptr.To("")} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			spec := tc.spec(w.server.Now())
			spec.LeaseTransitions = ptr.To(int32(41))
			_, err := devtest.Client(t, w.cluster.Config()).CoordinationV1().Leases(w.namespace).Create(t.Context(), &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: "pharos-devbox", Annotations: tc.note}, Spec: spec,
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			m := w.manager(t)
			if s := inspect(t, m); s.Held != tc.held || s.Token != 41 || len(s.Covers) != 0 {
				t.Errorf("%+v", s)
			}
			h, err := m.Acquire(t.Context(), deliver)
			if tc.held {
				if !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "held by x") {
					t.Errorf("%v, want ErrHeld", err)
				}
				return
			}
			if err != nil || h.Token() != 42 {
				t.Errorf("%v, %v, want token 42", h, err)
			}
		})
	}
}

// What happens to a holder whose Lease somebody else writes to or deletes.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		meddle func(*testing.T, *world)
		says   string
	}{
		"cleared": {func(t *testing.T, w *world) {
			w.edit(t, func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil })
		}, "it was released"},
		"taken": {func(t *testing.T, w *world) {
			w.edit(t, func(l *coordinationv1.Lease) {
				l.Spec.HolderIdentity = ptr.To("thief")
				l.Annotations["pharos.dev/lease-user"] = "eve@desk"
			})
		}, "eve@desk acquired it"},
		"counted": {func(t *testing.T, w *world) {
			w.edit(t, func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = ptr.To[int32](math.MaxInt32) })
		}, "took it up elsewhere"},
		"deleted": {func(t *testing.T, w *world) { w.delete(t) }, "it was deleted"},
		"made anew": {func(t *testing.T, w *world) {
			l := w.object(t)
			w.delete(t)
			l.ObjectMeta = metav1.ObjectMeta{Name: l.Name, Annotations: l.Annotations}
			if _, err := devtest.Client(t, w.cluster.Config()).CoordinationV1().Leases(w.namespace).Create(t.Context(), l, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "something else than Pharos"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for call, f := range map[string]func(*lease.Held) func(context.Context) error{
				"Check": func(h *lease.Held) func(context.Context) error { return h.Check },
				"Renew": func(h *lease.Held) func(context.Context) error { return h.Renew },
			} {
				w := newWorld(t)
				h := acquire(t, w.manager(t), deliver)
				tc.meddle(t, w)
				w.server.advance(time.Second)
				err := f(h)(t.Context())
				var lost *lease.LostError
				if !errors.Is(err, lease.ErrLost) || !errors.As(err, &lost) || !strings.Contains(lost.Reason, tc.says) {
					t.Errorf("%s: %v, want ErrLost that says %q", call, err, tc.says)
				}
				// It stays lost, without asking again.
				if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
					t.Errorf("Check afterwards: %v, want ErrLost", err)
				}
				if err := h.Release(t.Context()); err != nil {
					t.Errorf("Release afterwards: %v", err)
				}
			}
		})
	}
}
