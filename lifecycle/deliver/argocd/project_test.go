package argocd_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

func (s *shop) projects() dynamic.ResourceInterface {
	return s.objs.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}).Namespace(s.argo.Namespace())
}

// projectOf creates an AppProject of the test's name with this spec.
func (s *shop) projectOf(spec string) {
	s.t.Helper()
	p := s.parse("apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: " + s.name + ", namespace: " + s.argo.Namespace() + "}\nspec: " + s.filled(spec) + "\n")
	if _, err := s.projects().Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.projects().Delete(context.Background(), s.name, metav1.DeleteOptions{}) })
}

// filled fills in the test's namespace and repository.
func (s *shop) filled(text string) string {
	return strings.NewReplacer("NS", s.name, "REPO", s.url, "HOST", s.argo.GitURL()).Replace(text)
}

const (
	anywhere = `sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]`
	role     = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: NS}\nrules: []\n"
)

// What Argo CD refuses for its project, we refuse before, and nothing else.
func TestProjectsAsArgoCDDoes(t *testing.T) {
	t.Parallel()
	a := devtest.ArgoCD(t)
	for name, tt := range map[string]struct {
		project  string
		clusters bool   // a ClusterRole is delivered too
		refused  string // what is to be named
	}{
		"everything":               {project: `{` + anywhere + `}`},
		"null is no list":          {project: `{` + anywhere + `, namespaceResourceWhitelist: null}`},
		"an empty list of kinds":   {project: `{` + anywhere + `, namespaceResourceWhitelist: []}`, refused: "namespaceResourceWhitelist"},
		"the kind":                 {project: `{` + anywhere + `, namespaceResourceWhitelist: [{group: "", kind: ConfigMap}]}`},
		"another kind":             {project: `{` + anywhere + `, namespaceResourceWhitelist: [{group: apps, kind: "*"}]}`, refused: "ConfigMap"},
		"a pattern of kinds":       {project: `{` + anywhere + `, namespaceResourceWhitelist: [{group: "*", kind: "Conf?g[M]*"}]}`},
		"a denied kind":            {project: `{` + anywhere + `, namespaceResourceBlacklist: [{group: "*", kind: ConfigMap}]}`, refused: "namespaceResourceBlacklist"},
		"of the cluster":           {project: `{` + anywhere + `}`, clusters: true, refused: "clusterResourceWhitelist"},
		"of the cluster, listed":   {project: `{` + anywhere + `, clusterResourceWhitelist: [{group: "rbac*", kind: "Cluster*"}]}`, clusters: true},
		"of the cluster, denied":   {project: `{` + anywhere + `, clusterResourceWhitelist: [{group: "*", kind: "*"}], clusterResourceBlacklist: [{group: rbac.authorization.k8s.io, kind: ClusterRole}]}`, clusters: true, refused: "clusterResourceBlacklist"},
		"another namespace":        {project: `{sourceRepos: ["*"], destinations: [{server: "*", namespace: NS-other}]}`, refused: "destinations"},
		"a pattern of namespaces":  {project: `{sourceRepos: ["*"], destinations: [{server: "https://*", namespace: "N?*"}, {server: "https://*", namespace: "pharos-*"}]}`},
		"the cluster by its name":  {project: `{sourceRepos: ["*"], destinations: [{name: in-cluster, namespace: NS}]}`},
		"another cluster":          {project: `{sourceRepos: ["*"], destinations: [{server: "https://10.0.0.1", namespace: "*"}]}`, refused: "destinations"},
		"a denied namespace":       {project: `{sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}, {server: "*", namespace: "!NS"}]}`, refused: "!NS"},
		"others are denied":        {project: `{sourceRepos: ["*"], destinations: [{server: "*", namespace: "!NS-other"}]}`},
		"another repository":       {project: `{sourceRepos: ["HOST/other.git"], destinations: [{server: "*", namespace: "*"}]}`, refused: "sourceRepos"},
		"no repository":            {project: `{destinations: [{server: "*", namespace: "*"}]}`, refused: "sourceRepos"},
		"a pattern of addresses":   {project: `{sourceRepos: ["HOST/*"], destinations: [{server: "*", namespace: "*"}]}`},
		"a star stays in a folder": {project: `{sourceRepos: ["http:*"], destinations: [{server: "*", namespace: "*"}]}`, refused: "sourceRepos"},
		"a denied repository":      {project: `{sourceRepos: ["*", "!REPO"], destinations: [{server: "*", namespace: "*"}]}`, refused: "!REPO"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, a)
			s.projectOf(tt.project)
			files := s.appOfApps(automated, "api")
			files["api/api.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
			if tt.clusters {
				files["api/api.yaml"] += s.filled(role)
				t.Cleanup(func() {
					_ = devtest.Client(t, s.argo.Cluster().Config()).RbacV1().ClusterRoles().Delete(context.Background(), s.name, metav1.DeleteOptions{})
				})
			}
			files["root/apps.yaml"] = strings.Replace(files["root/apps.yaml"], "project: default", "project: "+s.name, 1)
			s.root(manual) // of the project default, so that the other is the child's alone
			c := s.commit(files)
			d, err := s.examined(c)
			refused := errors.Is(err, lifecycle.ErrBlocked)
			if err != nil && !refused {
				t.Fatal(err)
			}
			if refused != (tt.refused != "") {
				t.Errorf("we say %v", err)
			}
			if refused {
				mustContain(t, err.Error(), "AppProject "+s.argo.Namespace()+"/"+s.name, s.filled(tt.refused))
			}
			if says := s.argoSays(d); (says != "") != refused {
				t.Errorf("Argo CD says %q, and we %v", says, err)
			}
		})
	}
}

// examined renders a commit and examines its delivery.
func (s *shop) examined(c source.Commit) (lifecycle.DeliverRequest, error) {
	s.t.Helper()
	d := s.deliverer()
	rendering := s.render(c)
	resolved, err := d.Resolve(s.t.Context(), rendering.Objects)
	if err != nil {
		s.t.Fatal(err)
	}
	r := lifecycle.DeliverRequest{Objects: rendering.Objects, Resolved: resolved, Target: s.name, Commit: c.ID, Images: s.images, Token: s.token}
	return r, d.Examine(s.t.Context(), r)
}

// argoSays makes the child Application of the request without Pharos, and returns
// why Argo CD does not sync it; empty if it does.
func (s *shop) argoSays(r lifecycle.DeliverRequest) string {
	s.t.Helper()
	i := slices.IndexFunc(r.Objects, func(o lifecycle.Object) bool { return o.Name == s.child("api") })
	s.create(string(r.Objects[i].JSON))
	said := ""
	err := wait.PollUntilContextTimeout(s.t.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		app := s.app(s.child("api")).Object
		status, _ := app["status"].(map[string]any)
		if conditions := string(jsonOf(s.t, map[string]any{"conditions": status["conditions"]})); strings.Contains(conditions, "InvalidSpecError") {
			said = conditions
			return true, nil
		}
		said = field(app, "status.operationState.message")
		if strings.Contains(said, "not permitted") || strings.Contains(said, "not valid") {
			return true, nil
		}
		if field(app, "status.operationState.phase") == "Succeeded" {
			said = ""
			return true, nil
		}
		return false, nil
	})
	if err != nil {
		s.t.Fatalf("%v: %s", err, said)
	}
	return said
}

// All that a project forbids is said together, before anything is written, with a
// command that permits it.
func TestForbiddenIsFoundFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.projectOf(`{sourceRepos: [REPO], destinations: [{server: "*", namespace: argocd}], namespaceResourceWhitelist: [{group: apps, kind: Deployment}], namespaceResourceBlacklist: [{group: "", kind: Secret}]}`)
	s.root(manual)
	s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, more.yaml]\n"
	files["root/more.yaml"] = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: one}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: two}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: empty}\n" + s.filled(role)
	c := s.commit(files)
	before := s.written()
	_, err := s.point(t.Context(), c)
	if !errors.Is(err, lifecycle.ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "AppProject argocd/"+s.name+" does not permit:",
		"the kind ServiceAccount (ServiceAccount "+s.name+"/one, ServiceAccount "+s.name+"/two), by spec.namespaceResourceWhitelist",
		"the kind ClusterRole of rbac.authorization.k8s.io (ClusterRole "+s.name+"), by spec.clusterResourceWhitelist",
		"the kind Secret (Secret "+s.name+"/empty), by spec.namespaceResourceBlacklist, which has Secret",
		"the destination {server: https://kubernetes.default.svc, namespace: "+s.name+"}", "kubectl edit appproject --namespace argocd "+s.name)
	if _, again := s.examined(c); again == nil || again.Error() != err.Error() {
		t.Errorf("examined: %v", again)
	}
	if after := s.written(); after != before {
		t.Errorf("something was written: %s is %s", before, after)
	}

	// What it says permits it, but for what is denied.
	_, patch, _ := strings.Cut(err.Error(), "--type json --patch '")
	patch, _, _ = strings.Cut(patch, "'")
	if _, err := s.projects().Patch(t.Context(), s.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatalf("%v: %s", err, patch)
	}
	if _, err = s.examined(c); !errors.Is(err, lifecycle.ErrBlocked) || strings.Contains(err.Error(), "patch") || strings.Count(err.Error(), "by spec.") != 1 {
		t.Errorf("when that is permitted: %v", err)
	}
	files["root/more.yaml"] = strings.Replace(files["root/more.yaml"], "kind: Secret\n", "kind: ConfigMap\n", 1)
	if _, err := s.projects().Patch(t.Context(), s.name, types.MergePatchType, []byte(`{"spec":{"namespaceResourceWhitelist":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = devtest.Client(t, s.argo.Cluster().Config()).RbacV1().ClusterRoles().Delete(context.Background(), s.name, metav1.DeleteOptions{})
	})
	s.deliver(s.commit(files))

	// Where we may not know what else Argo CD permits, it is left to it.
	if _, err := s.projects().Patch(t.Context(), s.name, types.MergePatchType, []byte(`{"spec":{"namespaceResourceWhitelist":[]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	files["root/more.yaml"] += "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: more}\nspec: {limits: []}\n"
	c = s.commit(files)
	if _, err := s.examined(c); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("a kind that is forbidden now: %v", err)
	}
	config, _ := devtest.User(t, s.argo.Cluster(), s.argo.Namespace(), devtest.Rights{Namespaced: withoutSettings(documented(t))})
	s.config = config
	if _, err := s.examined(c); err != nil {
		t.Errorf("without the right to read the settings: %v", err)
	}
}

// A project that deploy makes is judged as deploy leaves it.
func TestPreparedProject(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.projectOf(`{sourceRepos: [], destinations: []}`)
	s.root(manual)
	s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
	r, err := s.examined(s.commit(s.single("")))
	if !errors.Is(err, lifecycle.ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	prepared := s.filled(`{"metadata":{"name":"NS"},"spec":{"sourceRepos":["REPO"],"destinations":[{"server":"https://kubernetes.default.svc","namespace":"*"}]}}`)
	r.Prepared = []lifecycle.Object{{Group: "argoproj.io", Version: "v1alpha1", Kind: "AppProject", Namespace: s.argo.Namespace(), Name: s.name, JSON: json.RawMessage(prepared)}}
	if err := s.deliverer().Examine(t.Context(), r); err != nil {
		t.Errorf("as it will be: %v", err)
	}
}

// A global project may permit what a project does not, so Argo CD is left to say it.
func TestGlobalProjects(t *testing.T) {
	t.Parallel()
	a := devtest.OwnArgoCD(t, devtest.OwnCluster(t, devenv.Options{}))
	s := newShop(t, a)
	s.projectOf(`{sourceRepos: [], destinations: []}`)
	s.root(automated)
	s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
	c := s.commit(s.single(""))
	if _, err := s.examined(c); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	wide := s.parse("apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: wide, namespace: " + a.Namespace() + "}\nspec: {" + anywhere + "}\n")
	if _, err := s.projects().Create(t.Context(), wide, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const settings = `{"data":{"globalProjects":"- projectName: wide\n  labelSelector: {matchExpressions: [{key: of, operator: DoesNotExist}]}\n"}}`
	if _, err := devtest.Client(t, s.config).CoreV1().ConfigMaps(a.Namespace()).Patch(t.Context(), "argocd-cm", types.MergePatchType, []byte(settings), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.deliver(c)
}
