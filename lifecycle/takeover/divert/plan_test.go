package divert_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// The patch replaces what Git declares, and nothing else.
func TestPatch(t *testing.T) {
	t.Parallel()
	d, refusals, _, err := divert.Plan(liveOf(t, nil), declared(t, original), "api", agent)
	if err != nil || len(refusals) > 0 {
		t.Fatal(refusals, err)
	}
	patch, err := d.Patch()
	if err != nil {
		t.Fatal(err)
	}
	const at = `/spec/template/spec/containers/1`
	pair := func(field, was, is string) string {
		return `{"op":"test","path":"` + at + field + `","value":` + was + `},{"op":"replace","path":"` + at + field + `","value":` + is + `}`
	}
	want := "[" + strings.Join([]string{
		`{"op":"test","path":"/metadata/uid","value":"5f0c8a52"},{"op":"test","path":"/metadata/generation","value":3},{"op":"test","path":"` + at + `/name","value":"api"}`,
		pair("/image", `"`+original+`"`, `"`+agent+`"`),
		pair("/command", `["/bin/api"]`, `["/pharos-agent"]`),
		pair("/args", `["--port","8080"]`, `["run"]`),
		pair("/livenessProbe/exec/command", `["/bin/health"]`, `["/pharos-agent","probe"]`),
		pair("/startupProbe/exec/command", `["/bin/started","-v"]`, `["/pharos-agent","probe"]`),
		pair("/lifecycle/postStart/exec/command", `["/bin/warm"]`, `["/pharos-agent","hook"]`),
		pair("/lifecycle/preStop/exec/command", `["/bin/drain"]`, `["/pharos-agent","hook"]`),
	}, ",") + "]"
	if string(patch) != want {
		t.Errorf("got\n%s\nwant\n%s", patch, want)
	}
}

// plain is both sides of the manifest with nothing but an image that says what runs.
func plain(t *testing.T, change func(*corev1.Container)) (live, git []byte) {
	t.Helper()
	strip := func(d *appsv1.Deployment) {
		c := &d.Spec.Template.Spec.Containers[1]
		c.Command, c.Args, c.Lifecycle, c.LivenessProbe, c.StartupProbe, c.ReadinessProbe = nil, nil, nil, nil, nil, nil
		if change != nil {
			change(c)
		}
	}
	live = liveOf(t, strip)
	return live, liveOf(t, func(d *appsv1.Deployment) { strip(d); d.Status = appsv1.DeploymentStatus{} })
}

// What the agent runs is harmless, whatever Git declares of command and arguments.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command, args []string
		want          map[string]string
	}{
		"none":    {want: map[string]string{"/image": `"` + agent + `"`}},
		"command": {command: []string{"a"}, want: map[string]string{"/image": `"` + agent + `"`, "/command": `["/pharos-agent","run"]`}},
		"args":    {args: []string{"a"}, want: map[string]string{"/image": `"` + agent + `"`, "/args": `["run"]`}},
		"both":    {command: []string{"a"}, args: []string{"b"}, want: map[string]string{"/image": `"` + agent + `"`, "/command": `["/pharos-agent"]`, "/args": `["run"]`}},
		"empty":   {command: []string{}, args: []string{}, want: map[string]string{"/image": `"` + agent + `"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, git := plain(t, func(c *corev1.Container) { c.Command, c.Args = tt.command, tt.args })
			d, refusals, _, err := divert.Plan(live, git, "api", agent)
			if err != nil || len(refusals) > 0 {
				t.Fatal(refusals, err)
			}
			got := map[string]string{}
			for _, v := range d.Values {
				got[v.Field] = string(v.Agent)
			}
			if len(got) != len(tt.want) {
				t.Errorf("got %v", got)
			}
			for field, want := range tt.want {
				if got[field] != want {
					t.Errorf("%s: got %s, want %s", field, got[field], want)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	container := func(change func(*corev1.Container)) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec.Containers[1]) }
	}
	for name, tt := range map[string]struct {
		live func(*appsv1.Deployment)
		want string
	}{
		"paused":               {func(d *appsv1.Deployment) { d.Spec.Paused = true }, "is paused"},
		"no replicas":          {func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(0)) }, "no replicas"},
		"not observed":         {func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 2 }, "in progress"},
		"not updated":          {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, "in progress"},
		"old pods":             {func(d *appsv1.Deployment) { d.Status.Replicas = 3 }, "in progress"},
		"an owner":             {func(d *appsv1.Deployment) { d.OwnerReferences = []metav1.OwnerReference{{Kind: "Shop", Name: "big"}} }, "belongs to Shop big"},
		"being deleted":        {func(d *appsv1.Deployment) { d.DeletionTimestamp = ptr.To(metav1.Now()) }, "is being deleted"},
		"another name":         {func(d *appsv1.Deployment) { d.Name = "web" }, "Git declares Deployment /api"},
		"another image":        {container(func(c *corev1.Container) { c.Image = other }), "/image of container \"api\" is not what Git declares"},
		"another command":      {container(func(c *corev1.Container) { c.Command = []string{"sh"} }), "/command of container \"api\" is not"},
		"an undeclared probe":  {container(func(c *corev1.Container) { c.ReadinessProbe = &corev1.Probe{ProbeHandler: execProbe("true")} }), "/readinessProbe/exec/command of container"},
		"a probe less":         {container(func(c *corev1.Container) { c.LivenessProbe = nil }), "/livenessProbe/exec/command of container"},
		"the network of nodes": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.HostNetwork = true }, "the network of their node"},
		"a port of nodes":      {container(func(c *corev1.Container) { c.Ports[0].HostPort = 80 }), "a port of the node"},
		"Windows":              {func(d *appsv1.Deployment) { d.Spec.Template.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }, "run on Windows"},
		"Windows by selector": {func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
		}, "run on Windows"},
		"no pull":                {container(func(c *corev1.Container) { c.ImagePullPolicy = corev1.PullNever }), "imagePullPolicy Never"},
		"a mount over the agent": {container(func(c *corev1.Container) { c.VolumeMounts[0].MountPath = "/pharos-agent/" }), "is mounted at /pharos-agent/"},
		"a mount of its session": {container(func(c *corev1.Container) { c.VolumeMounts[0].MountPath = "/pharos-session.json" }), "is mounted at /pharos-session.json"},
		"taken over":             {container(func(c *corev1.Container) { c.Image = agent }), "taken over already"},
		"a foreign writer": {func(d *appsv1.Deployment) {
			d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "keel", Operation: "Update", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"api\"}":{"f:image":{}}}}}}}`)}}
		}, `/image of container "api" are written by "keel"`},
		"no Deployment": {func(d *appsv1.Deployment) { d.Kind = "StatefulSet" }, "StatefulSet api is no Deployment"},
		"no container":  {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Name = "web" }, `has no container "api"`},
		"an init container": {func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[1].Name, d.Spec.Template.Spec.InitContainers[0].Name = "web", "api"
		}, `"api" is an init container`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, refusals, _, err := divert.Plan(liveOf(t, tt.live), declared(t, original), "api", agent)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(refusals, func(r divert.Refusal) bool { return strings.Contains(r.Reason, tt.want) && r.Next != "" }) {
				t.Errorf("got %v, want %q", refusals, tt.want)
			}
		})
	}
}

func execProbe(command ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
}

// All reasons come at once.
func TestRefusalsTogether(t *testing.T) {
	t.Parallel()
	_, refusals, _, err := divert.Plan(liveOf(t, func(d *appsv1.Deployment) {
		d.Spec.Paused, d.Spec.Template.Spec.HostNetwork = true, true
		d.OwnerReferences = []metav1.OwnerReference{{Kind: "Shop", Name: "big"}}
		d.Spec.Template.Spec.Containers[1].ImagePullPolicy = corev1.PullNever
	}), declared(t, original), "api", agent)
	if err != nil || len(refusals) != 4 {
		t.Errorf("got %v, %v", refusals, err)
	}
}

// An image without a digest is refused though it is what Git declares.
func TestImageWithoutDigest(t *testing.T) {
	t.Parallel()
	const tagged = "registry.example/shop/api:v1"
	live := liveOf(t, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = tagged })
	_, refusals, _, err := divert.Plan(live, declared(t, tagged), "api", agent)
	if err != nil || len(refusals) != 1 || !strings.Contains(refusals[0].Reason, "not named by digest") {
		t.Errorf("got %v, %v", refusals, err)
	}
}

// A port of the node is no reason where an old pod may go first.
func TestPortOfTheNode(t *testing.T) {
	t.Parallel()
	for _, s := range []appsv1.DeploymentStrategy{
		{Type: appsv1.RecreateDeploymentStrategyType},
		{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromInt32(0))}},
	} {
		_, refusals, _, err := divert.Plan(liveOf(t, func(d *appsv1.Deployment) {
			d.Spec.Strategy, d.Spec.Template.Spec.Containers[1].Ports[0].HostPort = s, 80
		}), declared(t, original), "api", agent)
		if err != nil || len(refusals) > 0 {
			t.Errorf("%s: %v, %v", s.Type, refusals, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*appsv1.Deployment){
		"these containers start again, too: sidecar": nil,
		"init containers run again":                  nil,
		`what is in volume "cache" goes`:             nil,
		"its postStart hook does not run":            nil,
		"its preStop hook does not run":              nil,
		"may use 32Mi of memory":                     nil,
		"Recreate":                                   func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
		"up to 1 of its 4 pods are missing": func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas = ptr.To(int32(4)), 4, 4
		},
		"1 of its pods are not available": func(d *appsv1.Deployment) { d.Status.UnavailableReplicas = 1 },
		"its pods get 3 s to end":         func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To(int64(3)) },
		"its preStop hook is a request": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[1].Lifecycle.PreStop = &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/bye"}}
		},
		"containers start again, too: proxy, sidecar": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.InitContainers = append(d.Spec.Template.Spec.InitContainers, corev1.Container{Name: "proxy", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)})
		},
	} {
		_, _, warnings, err := divert.Plan(liveOf(t, change), declared(t, original), "api", agent)
		if err != nil || !slices.ContainsFunc(warnings, func(w divert.Warning) bool { return strings.Contains(w.Text, want) }) {
			t.Errorf("got %v, %v, want %q", warnings, err, want)
		}
	}
	// And none where there is nothing to say.
	live, git := plain(t, func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	})
	var quiet appsv1.Deployment
	if err := json.Unmarshal(live, &quiet); err != nil {
		t.Fatal(err)
	}
	s := &quiet.Spec.Template.Spec
	s.InitContainers, s.Containers, s.Volumes = nil, s.Containers[1:], nil
	s.Containers[0].VolumeMounts = nil
	live, err := json.Marshal(quiet)
	if err != nil {
		t.Fatal(err)
	}
	if _, refusals, warnings, err := divert.Plan(live, git, "api", agent); err != nil || len(refusals)+len(warnings) > 0 {
		t.Errorf("got %v, %v, %v", refusals, warnings, err)
	}
}

func TestPlanOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	good := declared(t, original)
	for _, args := range [][3]string{{"{", string(good), agent}, {string(good), "[]", agent}, {string(good), string(good), "registry.example/agent:v1"}, {`{"spec":7}`, string(good), agent}} {
		if _, _, _, err := divert.Plan([]byte(args[0]), []byte(args[1]), "api", args[2]); !errors.Is(err, divert.ErrInvalid) {
			t.Errorf("%.20q, %.20q, %s: %v", args[0], args[1], args[2], err)
		}
	}
}

// What Git declares counts by its digest: admission may have it pulled from elsewhere,
// which the agent is, too. Where the agent's image is not beside it, the credentials may
// not be for both.
func TestRegistries(t *testing.T) {
	t.Parallel()
	at := func(folder string) string { return folder + "/api@" + digest(original) }
	for name, tt := range map[string]struct {
		live, git string
		warns     bool
	}{
		"beside it":        {original, original, false},
		"a mirror":         {at("mirror.example/shop"), original, false},
		"another registry": {at("other.example/shop"), at("other.example/shop"), true},
		"another folder":   {at("registry.example/bakery"), at("registry.example/bakery"), true},
		"Docker Hub":       {at("shop"), at("shop"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := liveOf(t, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = tt.live })
			d, refusals, warnings, err := divert.Plan(live, declared(t, tt.git), "api", agent)
			if err != nil || len(refusals) > 0 {
				t.Fatal(refusals, err)
			}
			if got := strings.Contains(join(warnings), "the agent comes from registry.example/shop, and"); got != tt.warns {
				t.Errorf("warned: %t, of %v", got, warnings)
			}
			// What is put back is what was there.
			r, err := divert.Restore([]byte(strings.Replace(string(live), tt.live, agent, 1)), d)
			if err != nil || r.Outcome != divert.OutcomeRestored || !strings.Contains(string(r.Patch), `"value":"`+tt.live+`"`) {
				t.Errorf("put back by %s, %v", r.Patch, err)
			}
			// And what Git declares is as good.
			if r, err := divert.Restore([]byte(strings.Replace(string(live), tt.live, tt.git, 1)), d); err != nil || r.Outcome != divert.OutcomeWhole {
				t.Errorf("as Git declares it: %+v, %v", r, err)
			}
		})
	}
}
