package standard_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// inProject has the Applications of the services in a project of their own, whose
// windows are nobody else's.
func (s *argoShop) inProject() {
	s.t.Helper()
	apps := s.git("show", "HEAD:gitops/apps.yaml") + "\n"
	s.write(map[string]string{"gitops/apps.yaml": strings.ReplaceAll(apps, "project: default", "project: pharos-"+s.namespace)})
	s.commit("Have a project of our own")
}

// windows are the sync windows of the shop's project.
func (s *argoShop) windows() []any {
	s.t.Helper()
	client, err := dynamic.NewForConfig(s.argo.Cluster().Config())
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}).
		Namespace(s.argo.Namespace()).Get(s.t.Context(), "pharos-"+s.namespace, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	list, _, err := unstructured.NestedSlice(p.Object, "spec", "syncWindows")
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// becomesLive looks whenever an Application changes, until all are live: an
// operation that restores them ends after what it has restored.
func (s *argoShop) becomesLive() {
	s.t.Helper()
	w, err := s.apps.Watch(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Stop()
	for range w.ResultChan() {
		if st := s.status(s.argo.Cluster().Config()); st.IsLive() {
			return
		}
	}
	s.t.Fatal("the watch ended")
}

// compared has the controller look at an Application once more, and returns what it
// says then. What the controller is asked while it writes a status is lost on it, until
// it is asked something else.
func (s *argoShop) compared(name string) *unstructured.Unstructured {
	s.t.Helper()
	const refresh = "argocd.argoproj.io/refresh"
	ask := func(how string) {
		s.t.Helper()
		patch := []byte(`{"metadata":{"annotations":{"` + refresh + `":"` + how + `"}}}`)
		if _, err := s.apps.Patch(s.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	ask("normal")
	w, err := s.apps.Watch(s.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Stop()
	late := time.NewTicker(10 * time.Second)
	defer late.Stop()
	for how := "hard"; ; {
		select {
		case e := <-w.ResultChan():
			a, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				s.t.Fatalf("the watch of %s ended with %+v", name, e)
			}
			if _, asked := a.GetAnnotations()[refresh]; !asked {
				return a
			}
		case <-late.C:
			ask(how)
			how = map[string]string{"hard": "normal", "normal": "hard"}[how]
		}
	}
}

// staysEdited has the controller see that the settings were edited, and then look
// again and again.
func (s *argoShop) staysEdited(currency string) {
	s.t.Helper()
	cfg := s.argo.Cluster().Config()
	for syncStatus(s.compared(s.child("api"))) != "OutOfSync" {
		if s.sells(cfg, currency); s.t.Failed() {
			s.t.FailNow()
		}
	}
	for range 3 {
		if a := s.compared(s.child("api")); syncStatus(a) != "OutOfSync" {
			s.t.Errorf("compared while it is borrowed, it is %s", syncStatus(a))
		}
	}
	s.sells(cfg, currency)
}

func syncStatus(a *unstructured.Unstructured) string {
	status, _, _ := unstructured.NestedString(a.Object, "status", "sync", "status")
	return status
}

// What is edited while a target is borrowed stays edited, and comes back to the exact
// receipt when it is handed back.
func TestArgoCDBorrow(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	s.inProject()
	cfg := s.argo.Cluster().Config()
	deployed := s.deploy(cfg)
	before := s.windows()
	all, err := standard.Applications(t.Context(), s.target(), s.options(cfg))
	if want := []string{s.namespace, s.child("api"), s.child("mail")}; err != nil || !slices.Equal(all, want) {
		t.Errorf("the Applications are %v, %v; want %v", all, err, want)
	}
	if would, err := s.lifecycle(cfg).TryBorrow(t.Context(), lifecycle.BorrowRequest{Holder: "x", Purpose: "a look"}); err != nil || !slices.Equal(would, all) {
		t.Errorf("a lease would cover %v, %v", would, err)
	}
	_, err = s.lifecycle(cfg).Borrow(t.Context(), lifecycle.BorrowRequest{Holder: "x", Purpose: "a look", Covers: []string{"nobody"}})
	if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), s.child("api")) {
		t.Errorf("a lease of what there is not: %v", err)
	}

	held := s.borrow(cfg, s.child("api"))
	s.edit(cfg, "USD")
	s.staysEdited("USD")
	st := s.status(cfg)
	if len(st.Gate) != 1 || st.Gate[0].LeftOver || st.GateErr != nil || len(st.Lease.Exposed(st.Gate)) > 0 || !slices.Equal(st.Lease.Covers, []string{s.child("api")}) {
		t.Errorf("while it is borrowed: %+v, %v, %+v", st.Gate, st.GateErr, st.Lease)
	}
	_, err = s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("a delivery while it is borrowed: %v", err)
	}

	var events []lifecycle.EventType
	res, err := s.lifecycle(cfg).HandBack(t.Context(), lifecycle.HandBackRequest{Holder: held.Holder(), Events: func(e lifecycle.Event) { events = append(events, e.Type) }})
	if err != nil || len(res.Report.Opened) != 1 || len(res.Report.Pending) > 0 || !slices.Contains(events, lifecycle.EventGateOpened) || !slices.Contains(events, lifecycle.EventHealthy) {
		t.Fatalf("handed back: %+v, %v, %v", res, events, err)
	}
	s.sells(cfg, "EUR")
	if st := s.live(); st.Live.ID != deployed.Receipt || st.Lease.Held || len(st.Gate) > 0 {
		t.Errorf("afterwards: %+v", st)
	}
	if after := s.windows(); !reflect.DeepEqual(after, before) {
		t.Errorf("the windows are %v, and were %v", after, before)
	}
}

// A window that somebody takes away is a lease that is lost, and handed back all the
// same; one of somebody else keeps the target from coming back, which is said.
func TestArgoCDHandBackWithOthersWindows(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	s.inProject()
	cfg := s.argo.Cluster().Config()
	s.deploy(cfg)
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	projects := client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}).Namespace(s.argo.Namespace())
	windows := func(list string) {
		t.Helper()
		if _, err := projects.Patch(t.Context(), "pharos-"+s.namespace, types.MergePatchType, []byte(`{"spec":{"syncWindows":`+list+`}}`), metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
			t.Fatal(err)
		}
	}

	// The first renewal of so short a lease is due at once.
	held, err := s.lifecycle(cfg).Borrow(t.Context(), lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: "a look", For: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	windows(`[]`)
	if err := held.Renew(t.Context()); !errors.Is(err, lease.ErrLost) || !errors.Is(err, lease.ErrOpened) {
		t.Errorf("renewed without a window: %v", err)
	}
	if st := s.status(cfg); len(st.Lease.Exposed(st.Gate)) != 3 {
		t.Errorf("exposed are %v of %+v", st.Lease.Exposed(st.Gate), st.Lease)
	}
	s.edit(cfg, "USD")
	proxy, err := faultproxy.ForCluster(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	if _, err := s.lifecycle(proxy.Config(cfg)).HandBack(t.Context(), lifecycle.HandBackRequest{Holder: held.Holder()}); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.sells(cfg, "EUR")
	asked := func(r faultproxy.Request) bool {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.Path, "/applications/"+s.child("api"))
	}
	if !slices.ContainsFunc(proxy.Requests(), asked) {
		t.Error("Argo CD was believed without being asked to look")
	}

	held = s.borrow(cfg, s.child("api"))
	s.edit(cfg, "USD")
	s.staysEdited("USD")
	// The other one's stays as it is when ours goes.
	theirs := map[string]any{"kind": "deny", "schedule": "0 0 * * *", "duration": "24h", "applications": []any{s.child("api")}, "manualSync": false, "timeZone": "UTC"}
	data, err := json.Marshal(append(s.windows(), theirs))
	if err != nil {
		t.Fatal(err)
	}
	windows(string(data))
	res, err := s.lifecycle(cfg).HandBack(t.Context(), lifecycle.HandBackRequest{Holder: held.Holder(), Timeout: time.Minute})
	if notBack, ok := errors.AsType[*lifecycle.NotReturnedError](err); !ok || len(res.Report.Others) != 1 || !strings.Contains(strings.Join(notBack.Wrong, "\n"), s.child("api")) ||
		!strings.Contains(err.Error(), "0 0 * * *") {
		t.Errorf("while somebody else denies syncs: %+v, %v", res.Report, err)
	}
	if st := s.status(cfg); st.Lease.Held {
		t.Errorf("the lease is %+v", st.Lease)
	}
	left := slices.DeleteFunc(s.windows(), func(w any) bool { return !reflect.DeepEqual(w, any(theirs)) })
	if len(left) != 1 {
		t.Errorf("the windows are %v", s.windows())
	}
	res, err = s.lifecycle(cfg).FinishHandBack(t.Context(), lifecycle.HandBackRequest{Timeout: time.Minute})
	if notBack, ok := errors.AsType[*lifecycle.NotReturnedError](err); !ok || len(res.Report.Others) != 1 || !strings.Contains(strings.Join(notBack.Wrong, "\n"), s.child("api")) {
		t.Errorf("finished while somebody else denies syncs: %+v, %v", res.Report, err)
	}
	// It comes back when that is over, with what runs next.
	windows(`[]`)
	s.reconcile(cfg)
	s.sells(cfg, "EUR")
	s.live()
}

// A hand-back that is killed with SIGKILL at any event is finished by the next one.
func TestHandBackKilledAt(t *testing.T) {
	a := devtest.ArgoCD(t)
	for _, at := range []lifecycle.EventType{lifecycle.EventStarted, lifecycle.EventGateOpened, lifecycle.EventHealthy, lifecycle.EventLeaseReleased, lifecycle.EventFinished} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			s := newArgoShop(t, a)
			s.inProject()
			cfg := a.Cluster().Config()
			deployed := s.deploy(cfg)
			before := s.windows()
			held := s.borrow(cfg)
			s.edit(cfg, "USD")
			s.staysEdited("USD")
			s.dieIn(a.Cluster(), killed{At: at, HandBack: held.Holder()})
			res, err := s.lifecycle(cfg).HandBack(t.Context(), lifecycle.HandBackRequest{Holder: held.Holder()})
			if released := at == lifecycle.EventLeaseReleased || at == lifecycle.EventFinished; released && !errors.Is(err, lease.ErrLost) || !released && err != nil {
				t.Errorf("again after SIGKILL at %s: %+v, %v", at, res, err)
			}
			s.sells(cfg, "EUR")
			if st := s.live(); st.Live.ID != deployed.Receipt || st.Lease.Held || len(st.Gate) > 0 {
				t.Errorf("afterwards: %+v", st)
			}
			if after := s.windows(); !reflect.DeepEqual(after, before) {
				t.Errorf("the windows are %v, and were %v", after, before)
			}
		})
	}
}

// What the holder of a lease edited who was killed comes back when the lease has
// ended, and whatever runs next takes away the window.
func TestArgoCDBorrowerIsKilled(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	s.inProject()
	cfg := s.argo.Cluster().Config()
	deployed := s.deploy(cfg)
	before := s.windows()
	holder := lease.NewHolder()
	s.dieIn(s.argo.Cluster(), killed{Borrow: holder})
	s.edit(cfg, "USD")
	if st := s.status(cfg); st.Lease.Holder != holder || len(st.Gate) != 1 {
		t.Fatalf("when it was killed: %+v", st)
	}
	w, err := devtest.Client(t, cfg).CoreV1().ConfigMaps(s.namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=settings"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if settings, ok := e.Object.(*corev1.ConfigMap); ok && settings.Data["currency"] == "EUR" {
			break // healed
		}
	}
	s.sells(cfg, "EUR")
	s.becomesLive()
	if st := s.live(); st.Live.ID != deployed.Receipt || len(st.Gate) != 1 || !st.Gate[0].LeftOver {
		t.Errorf("when the window had ended: %+v", st)
	}
	s.write(map[string]string{"gitops/api/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: NOK}\n"})
	s.commit("Change the currency")
	// The lease may be there a second longer than the window: dates have no fractions.
	res, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Wait: time.Minute})
	if err != nil {
		t.Fatalf("reconcile: %v", err)
	}
	if st := s.live(); st.Live.ID != res.Receipt || st.Lease.Held || len(st.Gate) > 0 {
		t.Errorf("after the next delivery: %+v", st)
	}
	if after := s.windows(); !reflect.DeepEqual(after, before) {
		t.Errorf("the windows are %v, and were %v", after, before)
	}
}

// Who borrows, hands back and breaks needs the rights that docs/leases.md shows beside
// those of a delivery, uses each of them, and needs no others.
func TestDocumentedRightsOfBorrowers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/leases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Rights\n")
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil || len(role.Rules) != 2 {
		t.Fatalf("%v in %s", err, text)
	}
	s := newArgoShop(t, devtest.ArgoCD(t))
	s.inProject()
	c := s.argo.Cluster()
	s.deploy(c.Config())
	rights := documentedRights(t, s.shop)
	rights.ClusterWide = append(rights.ClusterWide, role.Rules...)
	cfg, user := devtest.User(t, c, s.namespace, rights)
	audit := devtest.RecordAudit(t, c)
	held := s.borrow(cfg)
	s.edit(c.Config(), "USD")
	s.staysEdited("USD")
	if err := held.RenewFor(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
	if st := s.status(cfg); st.GateErr != nil || len(st.Gate) != 1 {
		t.Errorf("%+v, %v", st.Gate, st.GateErr)
	}
	if _, err := s.lifecycle(cfg).HandBack(t.Context(), lifecycle.HandBackRequest{Holder: held.Holder()}); err != nil {
		t.Error(err)
	}
	s.sells(c.Config(), "EUR")
	held = s.borrow(cfg, s.child("api"))
	if _, err := s.breakIt(cfg, held.Holder()); err != nil {
		t.Error(err)
	}
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		used[e.Verb+" "+e.Resource] = true
	}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			// A project is read again only when somebody else has written it meanwhile.
			if !used[verb+" "+rule.Resources[0]] && verb+" "+rule.Resources[0] != "get appprojects" {
				t.Errorf("the right to %s %s is documented and not used", verb, rule.Resources[0])
			}
		}
	}
}
