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

// A backend whose BuildKit knows a registry by another name finds a rule to put
// that name into, for a reference with its digest too.
func TestPolicyOfReferencesByDigest(t *testing.T) {
	t.Parallel()
	ref := "localhost:5000/base:1" + anyDigest
	policy, err := policyOf([]Pin{{ref, ref}})
	if err != nil {
		t.Fatal(err)
	}
	var read spb.Policy
	if err := json.Unmarshal(policy, &read); err != nil {
		t.Fatal(err)
	}
	if r := read.Rules[0]; r.Action != spb.PolicyAction_CONVERT || r.Selector.Identifier != imageScheme+ref || r.Updates.Identifier != imageScheme+ref {
		t.Errorf("the first rule is %v", r)
	}
}
