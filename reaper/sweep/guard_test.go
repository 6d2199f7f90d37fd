package sweep_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// over makes the world's namespace transient and past its end.
func (w world) over() *corev1.Namespace {
	w.t.Helper()
	m := transient("", past)
	return w.relabel(func(ns *corev1.Namespace) {
		ns.Labels[keys.Intent], ns.Annotations = m.Labels[keys.Intent], m.Annotations
	})
}

func (w world) relabel(change func(*corev1.Namespace)) *corev1.Namespace {
	w.t.Helper()
	ns, err := w.admin.CoreV1().Namespaces().Get(w.t.Context(), w.ns, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(ns)
	ns, err = w.admin.CoreV1().Namespaces().Update(w.t.Context(), ns, metav1.UpdateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return ns
}

// endNamespace ends the world's namespace and wants the outcome.
func (w world) endNamespace(e *sweep.Ender, ns *corev1.Namespace, want sweep.Outcome) sweep.Result {
	w.t.Helper()
	res, err := e.End(w.t.Context(), namespaces, "", ns.Name, string(ns.UID))
	if err != nil {
		w.t.Fatal(err)
	}
	if res.Outcome != want {
		w.t.Fatalf("got %s (%s: %s), want %s", res.Outcome, res.Decision.Reason, res.Decision.Message, want)
	}
	return res
}

// wantAlive wants the namespace to be neither deleted nor marked.
func (w world) wantAlive() {
	w.t.Helper()
	ns, err := w.admin.CoreV1().Namespaces().Get(w.t.Context(), w.ns, metav1.GetOptions{})
	switch {
	case err != nil:
		w.t.Fatal(err)
	case ns.DeletionTimestamp != nil:
		w.t.Error("the namespace is being deleted")
	case ns.Annotations[keys.Ending] != "":
		w.t.Error("the namespace is still marked as about to be deleted")
	}
}

func (w world) wantEnding() {
	w.t.Helper()
	ns, err := w.admin.CoreV1().Namespaces().Get(w.t.Context(), w.ns, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		w.t.Fatal(err)
	case ns.DeletionTimestamp == nil:
		w.t.Error("the namespace is not being deleted")
	}
}

func (w world) claim(m metav1.ObjectMeta) {
	w.t.Helper()
	_, err := w.admin.CoreV1().PersistentVolumeClaims(w.ns).Create(w.t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: m, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: quantity("1Gi")}},
	}}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestNamespaceTakesWithItWhatDoesNotOutliveIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := w.over()
	w.configMap(metav1.ObjectMeta{Name: "plain"})
	w.configMap(transient("other", later()))
	w.configMap(metav1.ObjectMeta{Name: "helm", Annotations: map[string]string{"meta.helm.sh/release-name": "by-hand"}})
	w.claim(metav1.ObjectMeta{Name: "data"})
	w.endNamespace(w.ender(func(c *sweep.Config) { c.DryRun = true }), ns, sweep.WouldDelete)
	w.wantAlive()
	w.endNamespace(w.ender(), ns, sweep.Deleted)
	w.wantEnding()
}

func TestNamespaceThatHoldsWhatOutlivesIt(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]metav1.ObjectMeta{
		"retained":   {Labels: map[string]string{keys.Intent: "retained"}},
		"misspelt":   {Labels: map[string]string{keys.Intent: "retain"}},
		"unreadable": {Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1"}},
		"declared":   {Labels: map[string]string{keys.Target: "dev"}},
		"argo":       {Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "x:/ConfigMap:a/b"}},
		"flux":       {Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "x"}},
		"kept":       {Annotations: map[string]string{"helm.sh/resource-policy": "keep"}},
		"unpruned":   {Annotations: map[string]string{"argocd.argoproj.io/sync-options": "Delete=false"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ns := w.over()
			meta.Name = name
			w.configMap(meta)
			for _, e := range []*sweep.Ender{w.ender(func(c *sweep.Config) { c.DryRun = true }), w.ender()} {
				res := w.endNamespace(e, ns, sweep.Refused)
				if res.Decision.Reason != reaper.Holds || len(res.Held) != 1 || res.Held[0].Resource != "configmaps" || res.Held[0].Name != name {
					t.Errorf("got %+v", res)
				}
				if !strings.Contains(res.Decision.Message, "configmap/"+name) {
					t.Errorf("the message %q does not name it", res.Decision.Message)
				}
			}
			w.wantAlive()
		})
	}
}

func TestNamespaceThatHoldsManyIsLookedAtPageByPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := w.over()
	for i := range 501 {
		w.configMap(metav1.ObjectMeta{Name: fmt.Sprintf("m%03d", i)})
	}
	for i := range 8 { // on the second page
		w.configMap(metav1.ObjectMeta{Name: fmt.Sprintf("z%d", i), Labels: map[string]string{keys.Intent: "retained"}})
	}
	res := w.endNamespace(w.ender(), ns, sweep.Refused)
	if len(res.Held) != 5 || res.Held[4].Name != "z4" || !strings.Contains(res.Decision.Message, "4 more at least") {
		t.Errorf("got %+v", res)
	}

	// A list that expires is looked at from its beginning.
	p, config := w.behind()
	fault := p.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/configmaps$"), Times: 3,
		Match: func(r *http.Request) bool { return r.URL.Query().Get("continue") != "" }, Do: faultproxy.Answer(http.StatusGone)})
	res = w.endNamespace(ender(t, config), ns, sweep.Refused)
	if len(res.Held) != 5 || fault.Hits() != 3 {
		t.Errorf("after %d expired pages: got %+v", fault.Hits(), res)
	}
	w.wantAlive()
}

func TestNamespaceThatIsChangedBetweenTheLooks(t *testing.T) {
	t.Parallel()
	retain := func(w world) {
		w.configMap(metav1.ObjectMeta{Name: "new", Labels: map[string]string{keys.Intent: "retained"}})
	}
	for name, tt := range map[string]struct {
		rule faultproxy.Rule
		do   func(world)
		want sweep.Outcome
	}{
		"something retained came": {faultproxy.Rule{Method: http.MethodPatch, AfterUpstream: true}, retain, sweep.Refused},
		"extended before the mark": {faultproxy.Rule{Method: http.MethodPatch}, func(w world) {
			w.relabel(func(ns *corev1.Namespace) { ns.Annotations = later() })
		}, sweep.Waiting},
		"extended after the mark": {faultproxy.Rule{Method: http.MethodDelete}, func(w world) {
			w.relabel(func(ns *corev1.Namespace) { ns.Annotations[keys.ExpiresAt] = later()[keys.ExpiresAt] })
		}, sweep.Waiting},
		"retained after the mark": {faultproxy.Rule{Method: http.MethodDelete}, func(w world) {
			w.relabel(func(ns *corev1.Namespace) { ns.Labels[keys.Intent] = "retained" })
		}, sweep.Kept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ns := w.over()
			p, config := w.behind()
			tt.rule.Path, tt.rule.Times, tt.rule.Do = regexp.MustCompile("/namespaces/"+w.ns+"$"), 1, faultproxy.Stall()
			fault := p.Add(tt.rule)
			e := ender(t, config)
			type answer struct {
				res sweep.Result
				err error
			}
			done := make(chan answer, 1)
			go func() {
				res, err := e.End(t.Context(), namespaces, "", w.ns, string(ns.UID))
				done <- answer{res, err}
			}()
			select {
			case <-fault.Reached():
			case a := <-done:
				t.Fatalf("it wrote nothing: %+v, %v", a.res, a.err)
			}
			tt.do(w)
			fault.Release()
			if a := <-done; a.err != nil || a.res.Outcome != tt.want {
				t.Errorf("got %s (%s), %v; want %s", a.res.Outcome, a.res.Decision.Message, a.err, tt.want)
			}
			w.wantAlive()
		})
	}
}

// endsNamespaces are the rights to end namespaces, and to look into them but for what
// is left out.
func endsNamespaces(t *testing.T, e *sweep.Ender, leftOut ...string) []rbacv1.PolicyRule {
	t.Helper()
	all, gaps, err := e.Resources(t.Context(), []string{sweep.Everything, "secrets", "endpoints"})
	if err != nil || len(gaps) > 0 {
		t.Fatal(gaps, err)
	}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "patch", "delete"}}}
	for _, r := range all {
		if r.Namespaced && !slices.Contains(leftOut, r.String()) {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: []string{"list"}})
		}
	}
	return rules
}

func TestNamespaceThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := w.over()
	all, _ := devtest.User(t, w.cluster, w.ns, devtest.Rights{ClusterWide: endsNamespaces(t, w.ender())})
	some, _ := devtest.User(t, w.cluster, w.ns, devtest.Rights{ClusterWide: endsNamespaces(t, w.ender(), "secrets", "cronjobs.batch")})
	res := w.endNamespace(ender(t, some), ns, sweep.Refused)
	if len(res.Gaps) != 2 || res.Gaps[0].What != "cronjobs.batch" || res.Gaps[1].What != "secrets" || !strings.Contains(res.Gaps[1].Why, "forbidden") ||
		!strings.Contains(res.Decision.Message, "cronjobs.batch") {
		t.Errorf("got %+v", res)
	}
	w.wantAlive()
	unseen := func(c *sweep.Config) { c.Unseen, c.DryRun = []string{"secrets", "cronjobs.batch"}, true }
	w.endNamespace(ender(t, some, unseen), ns, sweep.WouldDelete)
	w.endNamespace(ender(t, all), ns, sweep.Deleted)
	w.wantEnding()
}

// Several that end the same namespace do not keep each other from it.
func TestNamespaceThatSeveralEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := w.over()
	outcomes := make(chan sweep.Outcome)
	for range 4 {
		e := w.ender()
		go func() {
			res, err := e.End(t.Context(), namespaces, "", ns.Name, string(ns.UID))
			if err != nil {
				t.Error(err)
			}
			outcomes <- res.Outcome
		}()
	}
	got := map[sweep.Outcome]int{}
	for range 4 {
		got[<-outcomes]++
	}
	if got[sweep.Deleted] != 1 || got[sweep.Deleted]+got[sweep.Kept]+got[sweep.Gone] != 4 {
		t.Errorf("got %v, want one that deleted it", got)
	}
	w.wantEnding()
}

// What is most precious is listed last before the deletion, since what is created after
// its list goes with the namespace; the first look begins with it, to end soon.
func TestLastLookEndsWithTheMostPrecious(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := w.over()
	p, config := w.behind()
	w.endNamespace(ender(t, config), ns, sweep.Deleted)
	var looks [2][]string // of each, in order
	look := 0
	for _, r := range p.Requests() {
		switch resource, listed := strings.CutPrefix(r.Path[strings.LastIndex(r.Path, "/namespaces/")+1:], "namespaces/"+w.ns+"/"); {
		case r.Method == http.MethodPatch:
			look++
		case listed:
			looks[look] = append(looks[look], resource)
		}
	}
	before := func(look []string, a, b string) bool {
		i, j := slices.Index(look, a), slices.Index(look, b)
		return i >= 0 && j >= 0 && i < j
	}
	if !before(looks[0], "persistentvolumeclaims", "pods") || !before(looks[1], "pods", "persistentvolumeclaims") || !before(looks[1], "endpoints", "statefulsets") {
		t.Errorf("it looked at %q and then at %q", looks[0], looks[1])
	}
}

// Faults are tried again, and what cannot be done leaves the namespace.
func TestNamespaceInSpiteOfFaults(t *testing.T) {
	t.Parallel()
	pods, itself, readyz := regexp.MustCompile("/pods$"), regexp.MustCompile("/namespaces/[^/]*$"), regexp.MustCompile("^/readyz$")
	for name, tt := range map[string]struct {
		rule faultproxy.Rule
		want sweep.Outcome // none with an error
	}{
		"a list breaks":               {faultproxy.Rule{Method: http.MethodGet, Path: pods, Times: 1, Do: faultproxy.Answer(http.StatusInternalServerError)}, sweep.Deleted},
		"a list is cut off":           {faultproxy.Rule{Method: http.MethodGet, Path: pods, Times: 3, Do: faultproxy.Cut()}, sweep.Deleted},
		"lists are too many":          {faultproxy.Rule{Method: http.MethodGet, Path: pods, Times: 3, Do: faultproxy.TooManyRequests(0)}, sweep.Deleted},
		"a resource goes":             {faultproxy.Rule{Method: http.MethodGet, Path: pods, Times: 1, Do: faultproxy.Answer(http.StatusNotFound)}, sweep.Deleted},
		"a list stays broken":         {faultproxy.Rule{Method: http.MethodGet, Path: pods, Do: faultproxy.Answer(http.StatusInternalServerError)}, sweep.Refused},
		"a list is never found":       {faultproxy.Rule{Method: http.MethodGet, Path: pods, Do: faultproxy.Answer(http.StatusNotFound)}, ""},
		"a list is forbidden":         {faultproxy.Rule{Method: http.MethodGet, Path: pods, Do: faultproxy.Answer(http.StatusForbidden)}, sweep.Refused},
		"the second list is":          {faultproxy.Rule{Method: http.MethodGet, Path: pods, Skip: 1, Do: faultproxy.Answer(http.StatusForbidden)}, sweep.Refused},
		"it is ready again":           {faultproxy.Rule{Method: http.MethodGet, Path: readyz, Times: 2, Do: faultproxy.Answer(http.StatusInternalServerError)}, sweep.Deleted},
		"it is not ready":             {faultproxy.Rule{Method: http.MethodGet, Path: readyz, Do: faultproxy.Answer(http.StatusInternalServerError)}, ""},
		"discovery breaks":            {faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("^/apis$"), Do: faultproxy.Answer(http.StatusServiceUnavailable)}, ""},
		"the mark conflicts":          {faultproxy.Rule{Method: http.MethodPatch, Path: itself, Times: 2, Do: faultproxy.Answer(http.StatusConflict)}, sweep.Deleted},
		"the mark's answer is lost":   {faultproxy.Rule{Method: http.MethodPatch, Path: itself, Times: 1, AfterUpstream: true, Do: faultproxy.Cut()}, sweep.Deleted},
		"it goes before the mark":     {faultproxy.Rule{Method: http.MethodPatch, Path: itself, Do: faultproxy.Answer(http.StatusNotFound)}, sweep.Gone},
		"the deletion is lost":        {faultproxy.Rule{Method: http.MethodDelete, Path: itself, Times: 1, Do: faultproxy.Cut()}, sweep.Deleted},
		"the deletion's answer is":    {faultproxy.Rule{Method: http.MethodDelete, Path: itself, Times: 1, AfterUpstream: true, Do: faultproxy.Cut()}, sweep.Deleted},
		"the deletion is not allowed": {faultproxy.Rule{Method: http.MethodDelete, Path: itself, Do: faultproxy.Answer(http.StatusForbidden)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ns := w.over()
			p, config := w.behind()
			fault := p.Add(tt.rule)
			res, err := ender(t, config).End(t.Context(), namespaces, "", ns.Name, string(ns.UID))
			if fault.Hits() == 0 || (err != nil) != (tt.want == "") || err == nil && res.Outcome != tt.want {
				t.Errorf("got %s, %v, after %d faults; want %s", res.Outcome, err, fault.Hits(), tt.want)
			}
			if tt.want == sweep.Deleted {
				w.wantEnding()
			} else {
				w.wantAlive()
			}
		})
	}
}
