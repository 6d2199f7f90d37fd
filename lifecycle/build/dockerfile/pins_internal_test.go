package dockerfile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	spb "github.com/moby/buildkit/sourcepolicy/pb"
)

const anyDigest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestContexts(t *testing.T) {
	t.Parallel()
	pins := []Pin{
		{"alpine", "alpine" + anyDigest}, {"docker.io/library/busybox:latest", "busybox" + anyDigest}, {"node:22", "node:22" + anyDigest},
		{"localhost:5000/a/b:1", "localhost:5000/a/b:1" + anyDigest}, {"golang" + anyDigest, "golang" + anyDigest}, {"web", "registry/dev/web" + anyDigest},
		{"nginx", "nginx" + anyDigest},
	}
	got := contextsOf(pins, []string{"nginx", "build"})
	want := map[string]string{
		"alpine": "alpine" + anyDigest, "busybox": "busybox" + anyDigest, "node:22": "node:22" + anyDigest,
		"localhost:5000/a/b:1": "localhost:5000/a/b:1" + anyDigest, "web": "registry/dev/web" + anyDigest, "golang" + anyDigest: "golang" + anyDigest,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func FuzzPolicy(f *testing.F) {
	for _, ref := range []string{"alpine", "alpine:3", "localhost:5000/a/b", "a@b", "UPPER", "", "docker.io/library/x:latest"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		policy, err := policyOf([]Pin{{ref, "alpine:3" + anyDigest}})
		if err != nil {
			return
		}
		var read spb.Policy
		if err := json.Unmarshal(policy, &read); err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		if last := read.Rules[len(read.Rules)-1]; last.Action != spb.PolicyAction_ALLOW {
			t.Errorf("the last rule is %v", last)
		}
		if name := contextName(ref); strings.HasSuffix(name, ":latest") {
			t.Errorf("%q is looked up as %q", ref, name)
		}
	})
}
