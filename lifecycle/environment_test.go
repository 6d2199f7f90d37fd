package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

// TestUnread wants configuration named that has changed while a workload that has
// it in its environment has not, and nothing else.
func TestUnread(t *testing.T) {
	t.Parallel()
	config := receipt.Object{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	secret := receipt.Object{Version: "v1", Kind: "Secret", Namespace: "shop", Name: "settings"}
	elsewhere := receipt.Object{Version: "v1", Kind: "ConfigMap", Namespace: "other", Name: "settings"}
	api := receipt.Object{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "api"}
	job := receipt.Object{Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "api"}
	const workload = `{"spec":{"template":{"spec":{%s}}}}`
	envFrom := fmt.Sprintf(workload, `"containers":[{"envFrom":[{"configMapRef":{"name":"settings"}}]}]`)
	key := fmt.Sprintf(workload, `"initContainers":[{"env":[{"name":"A"},{"name":"B","valueFrom":{"secretKeyRef":{"name":"settings"}}}]}]`)
	volume := fmt.Sprintf(workload, `"volumes":[{"configMap":{"name":"settings"}}]`)
	for name, tc := range map[string]struct {
		config, workload receipt.Object
		doc              string
		new              []receipt.Object // what is of another hash than before
		want             string           // a part of the only finding
	}{
		"nothing changed":     {config, api, envFrom, nil, ""},
		"configuration":       {config, api, envFrom, []receipt.Object{config}, "has not: Deployment shop/api. Pods"},
		"both":                {config, api, envFrom, []receipt.Object{config, api}, ""},
		"the workload":        {config, api, envFrom, []receipt.Object{api}, ""},
		"a key of a Secret":   {secret, api, key, []receipt.Object{secret}, "Secret shop/settings"},
		"of another kind":     {config, api, key, []receipt.Object{config}, ""},
		"another namespace":   {elsewhere, api, envFrom, []receipt.Object{elsewhere}, ""},
		"in a volume":         {config, api, volume, []receipt.Object{config}, ""},
		"of a Job":            {config, job, envFrom, []receipt.Object{config}, ""},
		"of no form":          {config, api, `{"spec":[]}`, []receipt.Object{config}, ""},
		"of no form, further": {config, api, fmt.Sprintf(workload, `"containers":[{"env":{}}]`), []receipt.Object{config}, ""},
	} {
		objects := []Object{{JSON: []byte(`{}`)}, {JSON: []byte(tc.doc)}}
		before := []receipt.Object{tc.config, tc.workload}
		now := []receipt.Object{tc.config, tc.workload}
		for i := range now {
			for _, o := range tc.new {
				if o == before[i] {
					now[i].Hash = "new"
				}
			}
		}
		var text []string
		for _, f := range unread(objects, now, before) {
			text = append(text, f.Subject+": "+f.Message)
		}
		all := strings.Join(text, "\n")
		if (tc.want == "") != (all == "") || !strings.Contains(all, tc.want) || len(text) > 1 {
			t.Errorf("%s: %q, want %q", name, all, tc.want)
		}
	}
	// At a first delivery nothing runs that could go on without.
	if found := unread([]Object{{JSON: []byte(`{}`)}, {JSON: []byte(envFrom)}}, []receipt.Object{config, api}, nil); len(found) > 0 {
		t.Errorf("at the first delivery: %v", found)
	}
}
