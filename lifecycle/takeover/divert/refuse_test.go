package divert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// What is refused is so as an API server shows it, with its defaults and with what its
// controllers say.
func TestRefusalsOfWhatIsThere(t *testing.T) {
	t.Parallel()
	const at, spec = "/spec/template/spec/containers/1", "/spec/template/spec"
	add := func(path, value string) string { return `[{"op":"add","path":"` + path + `","value":` + value + `}]` }
	for name, tt := range map[string]struct {
		manager, patch string
		// git is the image that Git declares, if that is another one, and container that
		// which is asked for.
		git, container string
		want           string
	}{
		"nothing":                {},
		"paused":                 {patch: add("/spec/paused", "true"), want: "is paused"},
		"no replicas":            {patch: add("/spec/replicas", "0"), want: "has no replicas"},
		"a rollout":              {patch: add("/spec/template/metadata/annotations", `{"hollow.pharos.dev/waiting":"CrashLoopBackOff"}`), want: "is in progress"},
		"a command":              {patch: add(at+"/command", `["sh"]`), want: "/command of container \"api\" is not what Git declares"},
		"an undeclared hook":     {patch: add(at+"/readinessProbe", `{"exec":{"command":["true"]}}`), want: "/readinessProbe/exec/command of container \"api\" is not what Git declares"},
		"another image":          {patch: add(at+"/image", `"`+other+`"`), want: "/image of container \"api\" is not what Git declares"},
		"a tag":                  {patch: add(at+"/image", `"registry.example/shop/api:v1"`), git: "registry.example/shop/api:v1", want: "not named by digest"},
		"taken over":             {patch: add(at+"/image", `"`+agent+`"`), want: "is taken over already"},
		"somebody else writes":   {manager: "keel", patch: add(at+"/image", `"`+other+`"`), git: other, want: `/image of container "api" are written by "keel"`},
		"the network of nodes":   {patch: add(spec+"/hostNetwork", "true"), want: "the network of their node"},
		"a port of nodes":        {patch: add(at+"/ports/0/hostPort", "8080"), want: "a port of the node"},
		"Windows":                {patch: add(spec+"/os", `{"name":"windows"}`), want: "run on Windows"},
		"no pull":                {patch: add(at+"/imagePullPolicy", `"Never"`), want: "imagePullPolicy Never"},
		"a mount over the agent": {patch: add(at+"/volumeMounts/0/mountPath", `"/pharos-agent"`), want: "is mounted at /pharos-agent"},
		"no container":           {container: "web", want: `has no container "web"`},
		"an init container":      {container: "migrate", want: "is an init container"},
		"an owner":               {patch: add("/metadata/ownerReferences", `[{"apiVersion":"v1","kind":"ConfigMap","name":"shop","uid":"OWNER"}]`), want: "belongs to ConfigMap shop"},
		"being deleted":          {patch: add("/metadata/finalizers", `["example.com/stay"]`), want: "is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.deliver(original)
			if tt.patch != "" {
				b.change(tt.manager, tt.patch)
			}
			if tt.want == "is being deleted" {
				if err := b.admin.AppsV1().Deployments(b.namespace).Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				defer b.patch("ann", `[{"op":"remove","path":"/metadata/finalizers"}]`)
			}
			if tt.git == "" {
				tt.git = original
			}
			if tt.container == "" {
				tt.container = "api"
			}
			d, refusals, _, err := divert.Plan(b.live(), declared(t, tt.git), tt.container, agent)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if len(refusals) > 0 || len(d.Values) != 7 {
					t.Errorf("got %v, %+v", refusals, d.Values)
				}
				return
			}
			if !slices.ContainsFunc(refusals, func(r divert.Refusal) bool { return strings.Contains(r.Reason, tt.want) }) {
				t.Errorf("got %v, want %q", refusals, tt.want)
			}
		})
	}
}

// change patches the Deployment as somebody else, and waits until its controller has
// seen that.
func (b *bench) change(manager, patch string) {
	b.Helper()
	if manager == "" {
		manager = "kubectl-edit"
	}
	if strings.Contains(patch, "OWNER") {
		owner, err := b.admin.CoreV1().ConfigMaps(b.namespace).Create(b.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		patch = strings.Replace(patch, "OWNER", fmt.Sprint(owner.UID), 1)
	}
	b.patch(manager, patch)
	b.await(func(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration >= d.Generation })
}
