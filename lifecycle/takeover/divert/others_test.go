package divert_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// changes are what somebody does to a Deployment while it is taken over, as kubectl
// does it, what becomes of it then, and of a takeover that goes on instead.
var changes = map[string]struct {
	kubectl string // words; FILE is the manifest with another image
	fails   bool
	outcome divert.Outcome
	// restored counts fields, kept has them with their values.
	restored int
	kept     string
	// again is what the same diversion fails with.
	again error
	// left is in the spec afterwards.
	left string
}{
	"image":             {kubectl: "set image deploy/api api=" + other, outcome: divert.OutcomeRestored, restored: 6, kept: `/image="` + other + `"`, again: divert.ErrOverwritten, left: other},
	"original image":    {kubectl: "set image deploy/api api=" + original, outcome: divert.OutcomeRestored, restored: 6},
	"image by a mirror": {kubectl: "set image deploy/api api=mirror.example/x@" + digest(agent), outcome: divert.OutcomeRestored, restored: 7},
	"another agent":     {kubectl: "set image deploy/api api=" + anotherAgent, outcome: divert.OutcomeReplaced, again: divert.ErrOverwritten, left: anotherAgent},
	"command":           {kubectl: patched(`"command":["sh"]`), outcome: divert.OutcomeRestored, restored: 6, kept: `/command=["sh"]`, again: divert.ErrOverwritten, left: `["sh"]`},
	"no command":        {kubectl: patched(`"command":null`), outcome: divert.OutcomeRestored, restored: 6, kept: "/command=null"},
	"original command":  {kubectl: patched(`"command":["/bin/api"]`), outcome: divert.OutcomeRestored, restored: 6},
	"args":              {kubectl: patched(`"args":["--verbose"]`), outcome: divert.OutcomeRestored, restored: 6, kept: `/args=["--verbose"]`, again: divert.ErrOverwritten, left: "--verbose"},
	"no args":           {kubectl: patched(`"args":null`), outcome: divert.OutcomeRestored, restored: 6, kept: "/args=null", again: divert.ErrOverwritten},
	"liveness": {kubectl: patched(`"livenessProbe":{"exec":{"command":["/bin/alive"]}}`), outcome: divert.OutcomeRestored, restored: 6,
		kept: `/livenessProbe/exec/command=["/bin/alive"]`, again: divert.ErrOverwritten, left: "/bin/alive"},
	"liveness of another kind": {kubectl: patched(`"livenessProbe":{"exec":null,"httpGet":{"path":"/alive","port":"http"}}`), outcome: divert.OutcomeRestored, restored: 6,
		kept: "/livenessProbe/exec/command=null", left: "/alive"},
	"no liveness":       {kubectl: patched(`"livenessProbe":null`), outcome: divert.OutcomeRestored, restored: 6, kept: "/livenessProbe/exec/command=null"},
	"liveness's period": {kubectl: patched(`"livenessProbe":{"periodSeconds":9}`), outcome: divert.OutcomeRestored, restored: 7, left: `"periodSeconds":9`},
	"startup": {kubectl: patched(`"startupProbe":{"exec":{"command":["/bin/up"]}}`), outcome: divert.OutcomeRestored, restored: 6,
		kept: `/startupProbe/exec/command=["/bin/up"]`, again: divert.ErrOverwritten, left: "/bin/up"},
	"readiness": {kubectl: patched(`"readinessProbe":{"httpGet":{"path":"/really"}}`), outcome: divert.OutcomeRestored, restored: 7, left: "/really"},
	"hooks":     {kubectl: patched(`"lifecycle":null`), outcome: divert.OutcomeRestored, restored: 5, kept: "/lifecycle/postStart/exec/command=null/lifecycle/preStop/exec/command=null"},
	"scale":     {kubectl: "scale deploy/api --replicas=3", outcome: divert.OutcomeRestored, restored: 7, left: `"replicas":3`},
	"env":       {kubectl: "set env deploy/api -c api MODE=slow", outcome: divert.OutcomeRestored, restored: 7, left: "slow"},
	"resources": {kubectl: "set resources deploy/api -c api --limits=memory=48Mi", outcome: divert.OutcomeRestored, restored: 7, left: "48Mi"},
	"restart":   {kubectl: "rollout restart deploy/api", outcome: divert.OutcomeRestored, restored: 7, left: "restartedAt"},
	"undo":      {kubectl: "rollout undo deploy/api", outcome: divert.OutcomeWhole, again: divert.ErrChanged},
	"server-side apply": {kubectl: "apply --server-side --force-conflicts -f FILE", outcome: divert.OutcomeReplaced, kept: `/image="` + other + `"`, again: divert.ErrChanged,
		left: other},
	"apply":    {kubectl: "apply -f FILE", outcome: divert.OutcomeReplaced, kept: `/image="` + other + `"`, again: divert.ErrChanged, left: other},
	"conflict": {kubectl: "apply --server-side -f FILE", fails: true, outcome: divert.OutcomeRestored, restored: 7},
	"a container before it": {kubectl: `patch deploy/api --type=json -p [{"op":"add","path":"/spec/template/spec/containers/0","value":{"name":"first","image":"registry.example/first:1"}}]`,
		outcome: divert.OutcomeRestored, restored: 7, left: "first:1"},
	"another container": {kubectl: `patch deploy/api --type=json -p [{"op":"replace","path":"/spec/template/spec/containers/1/name","value":"web"}]`,
		outcome: divert.OutcomeReplaced, again: divert.ErrChanged, left: `"web"`},
}

var anotherAgent = strings.Split(agent, "@")[0] + "@sha256:" + strings.Repeat("b", 64)

func digest(image string) string { return strings.Split(image, "@")[1] }

// patched is a patch of the container.
func patched(fields string) string {
	return `patch deploy/api -p {"spec":{"template":{"spec":{"containers":[{"name":"api",` + fields + `}]}}}}`
}

// kubectl runs the words of a change. It says whether they failed.
func (b *bench) kubectl(words string) bool {
	b.Helper()
	path, err := devenv.Kubectl(b.Context(), os.Stderr)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "api.json")
	if err := os.WriteFile(file, declared(b, other), 0o600); err != nil {
		b.Fatal(err)
	}
	args := strings.Fields(strings.ReplaceAll(words, "FILE", file))
	out, err := exec.CommandContext(b.Context(), path, append([]string{"--kubeconfig", devtest.Kubeconfig(b, b.cluster.Config()), "--namespace", b.namespace}, args...)...).CombinedOutput()
	b.Logf("kubectl %s: %v\n%s", words, err, out)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.Fatal(err)
	}
	return err != nil
}

// Each value is judged by itself: what is still the agent's is put back, and what others
// have changed meanwhile is kept and named. Nothing of the agent is left.
func TestOthersChanges(t *testing.T) {
	t.Parallel()
	for name, tt := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			d := b.diverted()
			if b.kubectl(tt.kubectl) != tt.fails {
				t.Fatal("kubectl did otherwise")
			}
			changed := b.live()
			r := b.restore(b.writer(b.cluster.Config(), nil), d)
			kept := ""
			for _, k := range r.Kept {
				kept += k.Field + "=" + string(k.Live)
			}
			if r.Outcome != tt.outcome || len(r.Restored) != tt.restored || kept != tt.kept || (r.Reason == "") != (tt.outcome == divert.OutcomeRestored) {
				t.Errorf("got %+v, kept %s", r, kept)
			}
			now := spec(t, b.live())
			if !strings.Contains(now, tt.left) {
				t.Errorf("%s is not in %s", tt.left, now)
			}
			untouched := tt.outcome == divert.OutcomeReplaced && tt.kept == ""
			if untouched && now != spec(t, changed) {
				t.Error("it was touched")
			}
			if untouched {
				return
			}
			if strings.Contains(now, "pharos-agent") {
				t.Errorf("something of the agent is left: %s", now)
			}
			for _, o := range owners(t, b.live()) {
				if strings.HasPrefix(o, "pharos.takeover") {
					t.Errorf("left is %s", o)
				}
			}
		})
	}
}

// A diversion that is made again, since its process goes on after it was killed, stands
// whatever others have changed: what they have put back of it is diverted again, what
// the agent does not need stays as they left it, and what it needs is an error that
// names it.
func TestAgainAfterOthersChanges(t *testing.T) {
	t.Parallel()
	for name, tt := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			d := b.diverted()
			w := b.writer(b.cluster.Config(), nil)
			b.kubectl(tt.kubectl)
			changed := spec(t, b.live())
			err := w.Divert(t.Context(), d)
			now := spec(t, b.live())
			switch {
			case !errors.Is(err, tt.again):
				t.Errorf("got %v", err)
			case errors.Is(err, divert.ErrOverwritten):
				field, _, _ := strings.Cut(tt.kept, "=")
				if !strings.Contains(err.Error(), field+" of container \"api\"") || !strings.Contains(err.Error(), "kubectl pharos handback") {
					t.Errorf("%v does not help", err)
				}
			}
			if err != nil {
				if now != changed {
					t.Error("it was touched")
				}
				return
			}
			if !strings.Contains(now, digest(agent)) || strings.Contains(now, original) || strings.Contains(now, "/bin/api") || !strings.Contains(now, tt.left) {
				t.Errorf("it is not diverted: %s", now)
			}
			if r := b.restore(w, d); r.Outcome != divert.OutcomeRestored || strings.Contains(spec(t, b.live()), "pharos-agent") {
				t.Errorf("put back: %+v", r)
			}
		})
	}
}

// Somebody who puts back what is diverted again, each time, is told of.
func TestPutBackAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.diverted()
	w := b.writer(b.cluster.Config(), func(c *divert.Config) {
		c.Guard = func(context.Context) error {
			b.patch("ann", `[{"op":"replace","path":"/spec/template/spec/containers/1/image","value":"`+original+`"},{"op":"add","path":"/spec/minReadySeconds","value":0},
				{"op":"add","path":"/metadata/annotations/n","value":"`+t.Name()+`"}]`)
			b.patch("ann", `[{"op":"remove","path":"/metadata/annotations/n"}]`)
			return nil
		}
	})
	if err := w.Divert(t.Context(), d); err == nil || errors.Is(err, divert.ErrOverwritten) {
		t.Errorf("got %v", err)
	}
	b.restore(b.writer(b.cluster.Config(), nil), d)
	if now := spec(t, b.live()); strings.Contains(now, "pharos-agent") {
		t.Errorf("something of the agent is left: %s", now)
	}
}
