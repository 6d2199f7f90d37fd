package argocd_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// goods are the files of a root with an object of each kind that is brought in a
// way of its own, before and after a change of every one of them.
func (s *shop) goods(serverSide, after bool) map[string]string {
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, goods.yaml, crd.yaml]\n"
	doc := `
apiVersion: v1
kind: Service
metadata: {name: api, labels: {gone: "yes"}}
spec:
  selector: {app: api}
  ports: [{name: http, port: 80}, {name: admin, port: 81}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {currency: EUR, gone: "yes"}
---
apiVersion: v1
kind: Secret
metadata: {name: password, annotations: {pharos.dev/secret-values: harmless}}
stringData: {password: one}
data: {gone: eWVz}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed, annotations: {argocd.argoproj.io/sync-options: Force=true}}
immutable: true
data: {edition: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}}
data: {to: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: there-before}
data: {mine: one}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: read}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: read}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: read}
subjects: [{kind: ServiceAccount, name: api}]
---
apiVersion: GROUP/v1
kind: Good
metadata: {name: cup}
spec: {colours: [{name: red, price: 1}], gone: true}
`
	if after {
		doc = strings.NewReplacer(`, labels: {gone: "yes"}`, "", "name: http, port: 80}, {name: admin, port: 81", "name: http, port: 8080", "EUR", "NOK",
			`, gone: "yes"`, "", "password: one", "password: two", "data: {gone: eWVz}\n", "", "edition: one", "edition: two", "to: one", "to: two", "mine: one", "mine: two",
			"verbs: [get, list]", "verbs: [get]", "kind: Role, name: read}", "kind: ClusterRole, name: view}",
			"name: red, price: 1", "name: blue, price: 2", ", gone: true", "").Replace(doc)
		files["root/api.yaml"] = strings.Replace(workload("api", ""), "image: api", "image: api, env: [{name: KEPT, value: two}], ports: [{containerPort: 8080}]", 1)
	} else {
		files["root/api.yaml"] = strings.Replace(workload("api", ""), "image: api", "image: api, env: [{name: KEPT, value: one}, {name: GONE, value: one}], ports: [{containerPort: 80}]", 1)
	}
	if serverSide { // which contradicts force
		doc = strings.NewReplacer("immutable: true", "immutable: false", "Force=true", "Prune=false").Replace(doc)
	}
	files["root/goods.yaml"] = strings.ReplaceAll(doc, "GROUP", s.group())
	files["root/crd.yaml"] = strings.ReplaceAll(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: goods.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: goods, kind: Good}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]
`, "GROUP", s.group())
	return files
}

// group is the API group of the test's own kinds.
func (s *shop) group() string { return s.name + ".example.com" }

// compare asks what a delivery of a commit would change, by the objects' names.
func (s *shop) compare(c source.Commit) map[string]lifecycle.Comparison {
	s.t.Helper()
	list, err := s.tryCompare(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func (s *shop) tryCompare(c source.Commit) (map[string]lifecycle.Comparison, error) {
	s.t.Helper()
	d := s.deliverer()
	rendering := s.render(c)
	resolved, err := d.Resolve(s.t.Context(), rendering.Objects)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := d.Compare(s.t.Context(), lifecycle.DeliverRequest{Objects: rendering.Objects, Resolved: resolved, Target: s.name, Commit: c.ID, Images: s.images})
	named := map[string]lifecycle.Comparison{}
	for _, o := range list {
		named[o.Object.Kind+" "+o.Object.Name] = o
	}
	return named, err
}

// held is an object as the cluster has it.
func (s *shop) held(o receipt.Object) []byte {
	s.t.Helper()
	var r dynamic.ResourceInterface = s.objs.Resource(schema.GroupVersionResource{Group: o.Group, Version: o.Version, Resource: o.Resource})
	if o.Namespace != "" {
		r = s.objs.Resource(schema.GroupVersionResource{Group: o.Group, Version: o.Version, Resource: o.Resource}).Namespace(o.Namespace)
	}
	held, err := r.Get(s.t.Context(), o.Name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return jsonOf(s.t, held.Object)
}

// plain is an object without what the server, controllers and Argo CD write of
// their own accord.
func plain(t testing.TB, doc []byte) map[string]any {
	t.Helper()
	if doc == nil {
		return nil
	}
	u := unstructured.Unstructured{}
	if err := json.Unmarshal(doc, &u.Object); err != nil {
		t.Fatal(err)
	}
	delete(u.Object, "status")
	annotations := u.GetAnnotations()
	maps.DeleteFunc(annotations, func(name, _ string) bool {
		return strings.HasPrefix(name, "argocd.argoproj.io/tracking") || strings.HasPrefix(name, "kubectl.kubernetes.io/") || strings.HasPrefix(name, "deployment.kubernetes.io/")
	})
	if u.SetAnnotations(annotations); len(annotations) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	}
	u.SetFinalizers(nil)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object
}

// What is foreseen of a commit is what Argo CD makes of it, in whatever way it
// applies: also fields that are gone, ports that are told by their number, and what
// it deletes and makes anew.
func TestForeseenIsWhatComes(t *testing.T) {
	t.Parallel()
	a := devtest.ArgoCD(t)
	for name, tt := range map[string]struct{ before, after string }{
		"client-side":             {"", ""},
		"server-side":             {"ServerSideApply=true", "ServerSideApply=true"},
		"replaced":                {"Replace=true", "Replace=true"},
		"server-side from now on": {"", "ServerSideApply=true"},
		"client-side again":       {"ServerSideApply=true", ""},
		"replaced from now on":    {"", "Replace=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, a)
			policy := func(option string) string {
				if option == "" {
					return "{automated: {selfHeal: true}, syncOptions: null}"
				}
				return "{automated: {selfHeal: true}, syncOptions: [" + option + "]}"
			}
			s.root(policy(tt.before))
			if _, err := devtest.Client(t, s.config).CoreV1().ConfigMaps(s.name).Create(t.Context(), configMap("there-before", "theirs"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			serverSide := strings.Contains(tt.before+tt.after, "ServerSide")
			s.foreseeAndDeliver(s.goods(serverSide, false), "create")
			s.patch(s.name, "somebody", "spec: {syncPolicy: "+policy(tt.after)+"}")
			files := s.goods(serverSide, true)
			if tt.before != tt.after && serverSide { // which is refused: see TestForeseenIsRefused
				files["root/goods.yaml"] = strings.Replace(files["root/goods.yaml"], "port: 8080", "port: 80, targetPort: 8080", 1)
			}
			s.foreseeAndDeliver(files, "configure")
		})
	}
}

// What Argo CD will fail at is foreseen, in the same words.
func TestForeseenIsRefused(t *testing.T) {
	t.Parallel()
	a := devtest.ArgoCD(t)
	const tries = "retry: {limit: 1, backoff: {duration: 1s}}}"
	service := func(port string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: more}\nspec: {ports: [{name: http, port: " + port + "}]}\n"
	}
	for name, tt := range map[string]struct{ before, after, options, says, comes string }{
		"a port, server-side from now on": {service("80"), service("8080"), "ServerSideApply=true", "Duplicate value", ""},
		"a port, client-side again": {strings.Replace(service("80"), "{name: more}", "{name: more, annotations: {argocd.argoproj.io/sync-options: ServerSideApply=true}}", 1),
			service("8080"), "", "Duplicate value", ""},
		"an immutable field": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\nimmutable: true\ndata: {a: b}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\nimmutable: true\ndata: {a: c}\n", "", "immutable", ""},
		"by force, server-side": {service("80"), service("80") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: even-more, annotations: {argocd.argoproj.io/sync-options: Force=true}}\n",
			"ServerSideApply=true", "by force", "--force cannot be used with --server-side"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, a)
			s.root("{automated: {selfHeal: true}, " + tries)
			files := s.single("")
			files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, more.yaml]\n"
			files["root/more.yaml"] = tt.before
			s.deliver(s.commit(files))
			if tt.options != "" {
				s.patch(s.name, "somebody", "spec: {syncPolicy: {syncOptions: ["+tt.options+"]}}")
			}
			files["root/more.yaml"] = tt.after
			c := s.commit(files)
			_, err := s.dryRun(c)
			if !errors.Is(err, lifecycle.ErrSource) {
				t.Fatalf("foreseen is %v", err)
			}
			mustContain(t, err.Error(), tt.says)
			d, err := s.point(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			s.fails(lifecycle.ErrUnhealthy, d, patience, cmp.Or(tt.comes, tt.says))
		})
	}
}

// foreseeAndDeliver compares what is foreseen of each object with what comes of it.
func (s *shop) foreseeAndDeliver(files map[string]string, what string) {
	s.t.Helper()
	c := s.commit(files)
	seen := s.compare(c)
	if n := 12; len(seen) != n {
		s.t.Errorf("%d objects are foreseen, want %d: %v", len(seen), n, seen)
	}
	before := map[string][]byte{}
	for name, o := range seen {
		if o.Live != nil && name != "ConfigMap migrate" { // which is compared with its manifest
			before[name] = s.held(o.Object)
			if diff := gocmp.Diff(plain(s.t, before[name]), plain(s.t, o.Live)); diff != "" {
				s.t.Errorf("%s %s: what is live, -there +seen\n%s", what, name, diff)
			}
		}
		want := lifecycle.ChangeConfigured
		switch {
		case name == "CustomResourceDefinition goods."+s.group() && what == "configure":
			want = lifecycle.ChangeUnchanged
		case name == "ConfigMap migrate" && o.Live == nil: // which Argo CD may have deleted and not made anew
			want = lifecycle.ChangeCreated
		case what == "create" && name != "Application "+s.name && name != "ConfigMap there-before":
			want = lifecycle.ChangeCreated
		}
		if o.Type != want {
			s.t.Errorf("%s %s is %q, want %q", what, name, o.Type, want)
		}
	}
	s.deliver(c)
	for name, o := range seen {
		if name == "ConfigMap migrate" {
			// Argo CD deletes a hook for the next sync, and may leave it at that: what
			// it makes of one, TestDocumentedHook tells.
			if to := map[string]any{"to": map[string]string{"create": "one", "configure": "two"}[what]}; !reflect.DeepEqual(plain(s.t, o.Merged)["data"], to) {
				s.t.Errorf("%s %s is foreseen as %s", what, name, o.Merged)
			}
			continue
		}
		got, want := plain(s.t, o.Merged), plain(s.t, s.held(o.Object))
		if o.Object.Kind == "Application" { // its marks say when, and under which lease
			got, want = map[string]any{"spec": got["spec"]}, map[string]any{"spec": want["spec"]}
		}
		if o.Object.Group == s.group() && o.Type == lifecycle.ChangeCreated { // its kind comes with it
			delete(want, "status")
		}
		for _, side := range []map[string]any{got, want} {
			if o.Type == lifecycle.ChangeCreated { // the server chooses anew
				for _, field := range []string{"clusterIP", "clusterIPs"} {
					unstructured.RemoveNestedField(side, "spec", field)
				}
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			s.t.Errorf("%s %s: -came +foreseen\n%s", what, name, diff)
		}
	}
}

// A dry run says what the cluster would refuse of a commit that was never
// delivered, and what would become of the rest, its Application included.
func TestDryRunTriesEachObject(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, broken.yaml]\n"
	files["root/broken.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: broken}\nspec: {ports: [{port: 99999}]}\n"
	c := s.commit(files)
	before := s.written()
	res, err := s.dryRun(c)
	if !errors.Is(err, lifecycle.ErrSource) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "Service "+s.name+"/broken", "99999")
	types := map[string]lifecycle.ChangeType{}
	for _, change := range res.Changes {
		types[change.Object.Kind] = change.Type
	}
	if want := map[string]lifecycle.ChangeType{"Application": lifecycle.ChangeConfigured, "Deployment": lifecycle.ChangeCreated}; !maps.Equal(types, want) {
		t.Errorf("got %v, want %v", types, want)
	}
	if after := s.written(); after != before {
		t.Errorf("a dry run wrote: %s is %s", before, after)
	}

	// Where we may not write the objects ourselves, that is said, and is no error.
	config, _ := devtest.User(t, s.argo.Cluster(), s.argo.Namespace(), devtest.Rights{Namespaced: documented(t)})
	s.config = config
	res, err = s.dryRun(c)
	if err != nil || len(res.Untried) != 1 || len(res.Changes) != 1 {
		t.Fatalf("with the rights of a delivery alone: %+v, %v", res, err)
	}
	mustContain(t, res.Untried[0].Message, "Deployment "+s.name+"/api", "Service "+s.name+"/broken", "you may not")
	if _, err := s.tryCompare(c); !errors.Is(err, lifecycle.ErrForbidden) || !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("compared without rights: %v", err)
	}
}

// dryRun has the cluster try a commit.
func (s *shop) dryRun(c source.Commit) (lifecycle.DeliverResult, error) {
	s.t.Helper()
	d := s.deliverer()
	rendering := s.render(c)
	resolved, err := d.Resolve(s.t.Context(), rendering.Objects)
	if err != nil {
		s.t.Fatal(err)
	}
	return d.Deliver(s.t.Context(), lifecycle.DeliverRequest{Objects: rendering.Objects, Resolved: resolved, Target: s.name, Commit: c.ID, Images: s.images, DryRun: true})
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"theirs": value}}
}
