package standard_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

var delivered = lifecycle.PrepareRequest{
	Target: "devbox", Namespace: "pharos", Account: "pharos-devbox-deliver",
	Resolved: []receipt.Object{
		{Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "shop"},
		{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: "shop", Name: "settings"},
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", Name: "api"},
		{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: "default", Name: "settings"},
	},
}

func prepare(t *testing.T, p lifecycle.Preparer) lifecycle.PrepareStep {
	t.Helper()
	steps, err := p.Prepare(t.Context(), delivered)
	if err != nil || len(steps) != 1 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	if again, err := p.Prepare(t.Context(), delivered); err != nil || again[0].Hash() != steps[0].Hash() {
		t.Errorf("the same once more has another hash, %v", err)
	}
	return steps[0]
}

// verbs are those of a step's roles by resource, as "Role shop: deployments".
func verbs(t *testing.T, step lifecycle.PrepareStep) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, o := range step.Apply {
		var role rbacv1.ClusterRole // a Role has the same rules
		if o.Kind != "Role" && o.Kind != "ClusterRole" {
			continue
		}
		if err := json.Unmarshal(o.JSON, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				key := strings.TrimSpace(o.Kind + " " + o.Namespace + ": " + resource)
				all[key] = append(all[key], rule.Verbs...)
			}
		}
	}
	return all
}

func TestRightsOfAStep(t *testing.T) {
	t.Parallel()
	without, with := verbs(t, prepare(t, standard.Rights{})), verbs(t, prepare(t, standard.Rights{Builds: true}))
	deliver := []string{"create", "patch", "list", "watch"}
	for key, want := range map[string][]string{
		"Role pharos: configmaps":  {"get", "list", "create", "patch", "delete"},
		"Role pharos: leases":      {"get", "create", "update"},
		"Role shop: deployments":   deliver,
		"Role shop: configmaps":    deliver,
		"Role shop: pods":          {"list"},
		"Role default: configmaps": deliver,
		"ClusterRole : namespaces": append([]string{"get"}, deliver...),
		"ClusterRole : nodes":      {"list"},
		"Role pharos: jobs":        nil,
		"Role shop: secrets":       nil,
	} {
		if got := without[key]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	if got := verbs(t, prepare(t, standard.Rights{Observed: true}))["Role shop: deployments"]; !slices.Equal(got, []string{"list"}) {
		t.Errorf("where Argo CD delivers: %v", got)
	}
	if got := with["Role pharos: jobs"]; !slices.Equal(got, []string{"get", "watch", "create", "delete"}) {
		t.Errorf("for builds: %v", got)
	}
}

func TestNamespacesOfAStep(t *testing.T) {
	t.Parallel()
	step := prepare(t, standard.Namespaces{})
	labels := map[string]string{}
	for _, o := range step.Create {
		var ns struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(o.JSON, &ns); err != nil {
			t.Fatal(err)
		}
		labels[o.Name] = ns.Metadata.Labels["pharos.dev/target"]
	}
	if len(labels) != 2 || labels["shop"] != "devbox" || labels["pharos"] != "" {
		t.Errorf("the namespaces are labelled %v", labels)
	}
}

// The rights of the controller are those that its page names.
func TestDocumentedRightsOfTheController(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/controller.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Rights\n")
	var documented, given []rbacv1.PolicyRule
	for _, block := range strings.Split(section, "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
			t.Fatal(err)
		}
		documented = append(documented, role.Rules...)
	}
	for _, o := range prepare(t, standard.Controller{ArgoCD: &standard.ArgoCDDeliver{Namespace: "argocd"}}).Apply {
		var role rbacv1.Role
		if err := json.Unmarshal(o.JSON, &role); o.Kind == "Role" && !strings.Contains(o.Name, ":takeover") && err == nil { // those have a section of their own
			given = append(given, role.Rules...)
		}
	}
	if !reflect.DeepEqual(documented, given) {
		t.Errorf("documented is %+v, given is %+v", documented, given)
	}
}

// So are those to end takeovers.
func TestDocumentedRightsOfTakeovers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/controller.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Rights to put back\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var documented rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(block), &documented); err != nil {
		t.Fatal(err)
	}
	var given []rbacv1.PolicyRule
	for _, o := range prepare(t, standard.Controller{}).Apply {
		var role rbacv1.Role
		if err := json.Unmarshal(o.JSON, &role); o.Kind == "Role" && strings.Contains(o.Name, ":takeover") && err == nil {
			given = append(given, role.Rules...)
		}
	}
	if !reflect.DeepEqual(documented.Rules, given) {
		t.Errorf("documented is %+v, given is %+v", documented.Rules, given)
	}
}

func TestControllerOfAStep(t *testing.T) {
	t.Parallel()
	step := prepare(t, standard.Controller{Image: "registry.example/pharos@sha256:1"})
	deployment := string(step.Apply[len(step.Apply)-1].JSON)
	for _, want := range []string{`"--leader-lease=pharos/pharos-devbox.controller"`, `"--watch-target=pharos/devbox"`, `"--put-back=shop"`, `"serviceAccountName":"pharos-devbox-controller"`} {
		if !strings.Contains(deployment, want) {
			t.Errorf("the Deployment lacks %s", want)
		}
	}
	if strings.Contains(deployment, "null") || strings.Contains(deployment, "argocd") {
		t.Errorf("the Deployment is %s", deployment)
	}
	if got, want := verbs(t, step), map[string][]string{
		"Role pharos: leases":    {"create", "get", "update", "get"},
		"Role pharos: events":    {"create"},
		"Role pharos: secrets":   {"get", "patch", "delete"},
		"Role shop: deployments": {"get", "patch"},
	}; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the rights without Argo CD are %v, want %v", got, want)
	}

	step = prepare(t, standard.Controller{Image: "registry.example/pharos@sha256:1", ArgoCD: &standard.ArgoCDDeliver{Namespace: "cd", Root: "devbox"}})
	if deployment := string(step.Apply[len(step.Apply)-1].JSON); !strings.Contains(deployment, `"--argocd-namespace=cd"`) || strings.Contains(deployment, "--put-back") {
		t.Errorf("the Deployment is %s", deployment)
	}
	if got, want := verbs(t, step), map[string][]string{
		"Role pharos: leases":    {"create", "get", "update", "get"},
		"Role pharos: events":    {"create"},
		"Role pharos: secrets":   {"get", "delete"},
		"Role shop: deployments": {"get"},
		"Role cd: appprojects":   {"get", "list", "patch"},
		"Role cd: applications":  {"get", "watch", "patch"},
	}; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the rights with Argo CD are %v, want %v", got, want)
	}
}

// Where a delivered workload asks for it, the controller supervises, with rights there
// and nowhere else.
func TestControllerThatSupervises(t *testing.T) {
	t.Parallel()
	asking := delivered
	asking.Objects = make([]lifecycle.Object, len(asking.Resolved))
	for i, o := range asking.Resolved {
		asking.Objects[i] = lifecycle.Object{Group: o.Group, Kind: o.Kind, Name: o.Name, JSON: []byte(`{"metadata":{"labels":{"pharos.dev/supervise":"true"}}}`)}
	}
	steps, err := standard.Controller{Image: "registry.example/pharos@sha256:1"}.Prepare(t.Context(), asking)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := verbs(t, steps[0]), map[string][]string{
		"Role pharos: leases":     {"create", "get", "update", "get"},
		"Role pharos: events":     {"create"},
		"Role pharos: secrets":    {"get", "patch", "delete"},
		"Role shop: daemonsets":   {"get", "list", "patch"},
		"Role shop: deployments":  {"get", "patch", "get", "list", "patch"},
		"Role shop: statefulsets": {"get", "list", "patch"},
		"Role shop: replicasets":  {"list"},
		"Role shop: pods":         {"list", "delete"},
	}; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the rights are %v, want %v", got, want)
	}
	if deployment := string(steps[0].Apply[len(steps[0].Apply)-1].JSON); !strings.Contains(deployment, `"--supervise=shop"`) {
		t.Errorf("the Deployment is %s", deployment)
	}
}

// What the target asks for is what the controller may end, and nothing else.
func TestControllerThatSweeps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asked standard.TargetController
		args  []string
		want  map[string][]string
	}{
		"everywhere": {
			asked: standard.TargetController{Sweep: []string{"configmaps", "jobs.batch"}},
			args:  []string{"--sweep=configmaps,jobs.batch"},
			want: map[string][]string{
				"ClusterRole : configmaps": {"get", "list", "watch", "delete"},
				"ClusterRole : jobs":       {"get", "list", "watch", "delete"},
				"ClusterRole : events":     {"create"},
			},
		},
		"in a namespace": {
			asked: standard.TargetController{Sweep: []string{"pods"}, SweepNamespace: "sandboxes"},
			args:  []string{"--sweep=pods", "--sweep-namespace=sandboxes"},
			want: map[string][]string{
				"Role sandboxes: pods":   {"get", "list", "watch", "delete"},
				"Role sandboxes: events": {"create"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := prepare(t, standard.Controller{Asked: tt.asked})
			got := verbs(t, step)
			for _, own := range []string{"Role pharos: leases", "Role pharos: events", "Role pharos: secrets", "Role shop: deployments"} {
				delete(got, own)
			}
			if !maps.EqualFunc(got, tt.want, slices.Equal) {
				t.Errorf("the rights are %v, want %v", got, tt.want)
			}
			for _, arg := range tt.args {
				if deployment := string(step.Apply[len(step.Apply)-1].JSON); !strings.Contains(deployment, `"`+arg+`"`) {
					t.Errorf("the Deployment lacks %s: %s", arg, deployment)
				}
			}
		})
	}
	got := verbs(t, prepare(t, standard.Controller{Asked: standard.TargetController{Sweep: []string{"namespaces"}}}))
	if want := []string{"get", "list", "watch", "delete", "patch"}; !slices.Equal(got["ClusterRole : namespaces"], want) {
		t.Errorf("on namespaces it may %v, want %v", got["ClusterRole : namespaces"], want)
	}
	for resource, may := range got {
		if strings.HasPrefix(resource, "ClusterRole") && resource != "ClusterRole : namespaces" && resource != "ClusterRole : events" && !slices.Equal(slices.Compact(may), []string{"list"}) || strings.Contains(resource, "secrets") && resource != "Role pharos: secrets" {
			t.Errorf("%s: %v", resource, may)
		}
	}
}

// The rights of whoever counts are those that the page of the inventory names.
func TestDocumentedRightsOfTheInventory(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/inventory.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Rights\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var documented rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(block), &documented); err != nil {
		t.Fatal(err)
	}
	step := prepare(t, standard.Controller{Asked: standard.TargetController{Inventory: true}})
	roles := map[string]int{}
	for _, o := range step.Apply {
		var role rbacv1.Role
		if o.Kind != "Role" || !strings.HasSuffix(o.Name, ":inventory") {
			continue
		}
		if err := json.Unmarshal(o.JSON, &role); err != nil {
			t.Fatal(err)
		}
		roles[o.Namespace]++
		if n := len(documented.Rules); len(role.Rules) < n || !reflect.DeepEqual(role.Rules[:n], documented.Rules) || o.Namespace != "pharos" && len(role.Rules) != n {
			t.Errorf("in %s it may %+v, and documented is %+v", o.Namespace, role.Rules, documented.Rules)
		}
	}
	if want := map[string]int{"pharos": 1, "shop": 1, "default": 1}; !maps.Equal(roles, want) {
		t.Errorf("roles in %v, want %v", roles, want)
	}
	if got := verbs(t, step); !slices.Equal(got["ClusterRole : namespaces"], []string{"list"}) {
		t.Errorf("the rights are %v", got)
	}
}

// TestControllerImage refuses what no node could pull before anything is written.
func TestControllerImage(t *testing.T) {
	t.Parallel()
	target := standard.Target{Name: "devbox", Namespace: "pharos", Registry: standard.Registry{Push: "localhost:5000/dev", Pull: "localhost:5000/dev"}, Overlay: "overlay"}
	for image, fine := range map[string]bool{
		"registry.example/pharos": true, "registry.example/pharos:v1": true, "registry.example/pharos@sha256:" + strings.Repeat("a", 64): true,
		"registry.example/pharos@sha256:…": false, "registry.example/Pharos": false, "registry.example/pharos@sha256:abc": false,
	} {
		_, err := standard.New(target, standard.Options{REST: &rest.Config{Host: "https://127.0.0.1:1"}, ControllerImage: image})
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "the controller's image is ") {
			t.Errorf("%s: %v", image, err)
		}
	}
}
