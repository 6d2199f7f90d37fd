package catalogue

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
)

// A base that is accepted is one that a registry client can ask for.
func TestCheckBase(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"alpine", "alpine:3.20", "library/alpine", "registry.example.com/team/base", "registry.example.com:5000/a/b/c:v1.2_3-x",
		"localhost:5000/base", "localhost/base", "127.0.0.1:5000/base", "[::1]:5000/base", "Registry.example.com/base", "a__b/c.d/e--f",
	} {
		if err := checkBase(s + digest); err != nil {
			t.Errorf("%s by digest: %v", s, err)
		}
		if _, err := name.NewDigest(s + digest); err != nil {
			t.Errorf("%s by digest: a registry client says %v", s, err)
		}
		if err := checkBase(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if _, err := name.ParseReference(s); err != nil {
			t.Errorf("%s: a registry client says %v", s, err)
		}
	}
	for _, s := range []string{
		"", digest, "Alpine" + digest, "a b" + digest, "/a" + digest, "a/" + digest, "a//b" + digest, "-a" + digest, "a_" + digest,
		"a:" + digest, "a:b:c" + digest, "https://a/b" + digest, "user@a/b" + digest, "a.b:port/c" + digest, "a" + digest + digest,
		"a" + digest + "0", "a" + digest[:len(digest)-1], "a" + strings.ToUpper(digest), "a" + strings.Replace(digest, "256", "512", 1),
		"a" + digest + "\n", "a" + digest + ":tag", "a:" + strings.Repeat("t", 129) + digest,
	} {
		if err := checkBase(s); err == nil || !strings.Contains(err.Error(), "must be \"scratch\", the name of an image of this file, or a reference") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if err := checkBase(Scratch); err != nil {
		t.Error(err)
	}
}
