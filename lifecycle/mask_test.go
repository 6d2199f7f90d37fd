package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/receipt"
)

// TestMasked shows comparisons as people see them: without what the target alone
// writes, and without the values of Secrets.
func TestMasked(t *testing.T) {
	t.Parallel()
	secret := receipt.Object{Version: "v1", Kind: "Secret", Name: "s"}
	for name, c := range map[string]struct {
		object              receipt.Object
		live, merged        string
		wantLive, wantMerge string
	}{
		"what the server writes": {
			receipt.Object{Version: "v1", Kind: "ConfigMap"},
			`{"metadata":{"name":"c","uid":"1","resourceVersion":"7","generation":1,"creationTimestamp":"x","managedFields":[{}],"selfLink":"y","labels":{"a":"b"}},"data":{"n":"1"},"status":{"x":1}}`,
			`{"metadata":{"name":"c","uid":"1","generation":2},"data":{"n":"2"},"spec":{"big":9007199254740993}}`,
			`{"data":{"n":"1"},"metadata":{"labels":{"a":"b"},"name":"c"}}`,
			`{"data":{"n":"2"},"metadata":{"name":"c"},"spec":{"big":9007199254740993}}`,
		},
		"values that stay, change, come and go": {
			secret,
			`{"data":{"stays":"SECRET","changes":"SECRET","goes":"SECRET"},"kind":"Secret"}`,
			`{"data":{"stays":"SECRET","changes":"SECRET2","comes":"SECRET"},"kind":"Secret"}`,
			`{"data":{"changes":"*** (before)","goes":"***","stays":"***"},"kind":"Secret"}`,
			`{"data":{"changes":"*** (after)","comes":"***","stays":"***"},"kind":"Secret"}`,
		},
		"a new one": {
			secret, "", `{"data":{"a":"SECRET"},"stringData":{"b":"SECRET"}}`,
			"", `{"data":{"a":"***"},"stringData":{"b":"***"}}`,
		},
		"what client-side apply kept": {
			secret,
			`{"metadata":{"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"{SECRET}"}}}`,
			`{"metadata":{"annotations":{"a":"b"}}}`,
			`{"metadata":{"annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"***"}}}`,
			`{"metadata":{"annotations":{"a":"b"}}}`,
		},
		"of no form that is known": {
			secret, `{"data":["SECRET"]}`, `{"data":{"a":{"b":"SECRET"}},"stringData":"SECRET"}`,
			`{"data":"***"}`, `{"data":{"a":"***"},"stringData":"***"}`,
		},
		"a Secret of another group": {
			receipt.Object{Group: "example.org", Version: "v1", Kind: "Secret"}, `{"data":{"a":"b"}}`, `{"data":{"a":"c"}}`,
			`{"data":{"a":"b"}}`, `{"data":{"a":"c"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := Comparison{Change: Change{Object: c.object}}
			if c.live != "" {
				in.Live = []byte(c.live)
			}
			if c.merged != "" {
				in.Merged = []byte(c.merged)
			}
			got, err := masked(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.wantLive, c.wantMerge}, []string{string(got.Live), string(got.Merged)}); diff != "" {
				t.Errorf("live and merged (-want +got):\n%s", diff)
			}
			if both := string(got.Live) + string(got.Merged); strings.Contains(both, "SECRET") {
				t.Errorf("a value is shown: %s", both)
			}
			if (got.Live == nil) != (c.live == "") {
				t.Error("nothing became something")
			}
		})
	}
	if _, err := masked(Comparison{Live: []byte("{")}); err == nil {
		t.Error("what is no object was shown")
	}
}
