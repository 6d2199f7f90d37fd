package argo_test

import (
	"encoding/json"
	"testing"

	"github.com/pharos-dev/pharos/internal/argo"
)

// permissions are those of a project's spec as JSON: a list that is not there is
// another one than an empty one.
func permissions(t *testing.T, spec string) argo.Permissions {
	t.Helper()
	var p argo.Permissions
	if err := json.Unmarshal([]byte(spec), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBanOfKind(t *testing.T) {
	t.Parallel()
	deployment, namespace := argo.GroupKind{Group: "apps", Kind: "Deployment"}, argo.GroupKind{Kind: "Namespace"}
	for name, tt := range map[string]struct {
		spec       string
		kind       argo.GroupKind
		namespaced bool
		field, by  string
	}{
		"no list":                  {spec: `{}`, kind: deployment, namespaced: true},
		"null":                     {spec: `{"namespaceResourceWhitelist":null}`, kind: deployment, namespaced: true},
		"an empty list":            {spec: `{"namespaceResourceWhitelist":[]}`, kind: deployment, namespaced: true, field: "namespaceResourceWhitelist"},
		"of the cluster, no list":  {spec: `{}`, kind: namespace, field: "clusterResourceWhitelist"},
		"of the cluster, listed":   {spec: `{"clusterResourceWhitelist":[{"group":"","kind":"Namespace"}]}`, kind: namespace},
		"other scope":              {spec: `{"clusterResourceWhitelist":[{"group":"*","kind":"*"}],"namespaceResourceWhitelist":[]}`, kind: deployment, namespaced: true, field: "namespaceResourceWhitelist"},
		"pattern":                  {spec: `{"namespaceResourceWhitelist":[{"group":"app?","kind":"[D]ep*"}]}`, kind: deployment, namespaced: true},
		"another group":            {spec: `{"namespaceResourceWhitelist":[{"group":"extensions","kind":"*"}]}`, kind: deployment, namespaced: true, field: "namespaceResourceWhitelist"},
		"no group is no pattern":   {spec: `{"namespaceResourceWhitelist":[{"kind":"Deployment"}]}`, kind: deployment, namespaced: true, field: "namespaceResourceWhitelist"},
		"denied":                   {spec: `{"namespaceResourceBlacklist":[{"group":"*","kind":"Deployment"}]}`, kind: deployment, namespaced: true, field: "namespaceResourceBlacklist", by: "Deployment of *"},
		"denied and listed":        {spec: `{"clusterResourceWhitelist":[{"group":"*","kind":"*"}],"clusterResourceBlacklist":[{"kind":"Namespace"}]}`, kind: namespace, field: "clusterResourceBlacklist", by: "Namespace"},
		"malformed":                {spec: `{"namespaceResourceWhitelist":[{"group":"apps","kind":"["}]}`, kind: deployment, namespaced: true, field: "namespaceResourceWhitelist"},
		"malformed does not deny":  {spec: `{"namespaceResourceBlacklist":[{"group":"apps","kind":"["}]}`, kind: deployment, namespaced: true},
		"letters' case counts":     {spec: `{"namespaceResourceWhitelist":[{"group":"apps","kind":"deployment"}]}`, kind: deployment, namespaced: true, field: "namespaceResourceWhitelist"},
		"a group's dots are plain": {spec: `{"clusterResourceWhitelist":[{"group":"rbac*","kind":"*"}]}`, kind: argo.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantBan(t, permissions(t, tt.spec).BanOfKind(tt.kind, tt.namespaced), tt.field, tt.by)
		})
	}
}

func wantBan(t *testing.T, got *argo.Ban, field, by string) {
	t.Helper()
	if got == nil {
		got = &argo.Ban{}
	}
	if *got != (argo.Ban{Field: field, By: by}) {
		t.Errorf("got %+v, want %s by %q", *got, field, by)
	}
}

func TestBanOfSource(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		repos string
		of    string
		by    string
		ok    bool
	}{
		"none":                  {repos: `[]`, of: "https://git.example/shop.git"},
		"any":                   {repos: `["*"]`, of: "https://git.example/shop.git", ok: true},
		"the same":              {repos: `["https://git.example/shop"]`, of: "https://Git.example/shop.git", ok: true},
		"another":               {repos: `["https://git.example/other.git"]`, of: "https://git.example/shop.git"},
		"a star stays":          {repos: `["https://git.example/*"]`, of: "https://git.example/a/shop.git"},
		"two stars do not":      {repos: `["https://git.example/**"]`, of: "https://git.example/a/shop.git", ok: true},
		"short form":            {repos: `["git@git.example:team/*"]`, of: "ssh://git@git.example/team/shop.git", ok: true},
		"of another user":       {repos: `["git@git.example:team/*"]`, of: "ssh://ann@git.example/team/shop.git"},
		"denied":                {repos: `["*","!https://git.example/shop.git"]`, of: "https://git.example/shop", by: "!https://git.example/shop.git"},
		"others are denied":     {repos: `["!https://git.example/other"]`, of: "https://git.example/shop", ok: true},
		"not an address":        {repos: `["https://git.example/%zz"]`, of: "https://git.example/shop"},
		"braces are no pattern": {repos: `["https://git.example/{shop,web}"]`, of: "https://git.example/shop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			field := "sourceRepos"
			if tt.ok {
				field = ""
			}
			wantBan(t, permissions(t, `{"sourceRepos":`+tt.repos+`}`).BanOfSource(tt.of), field, tt.by)
		})
	}
}

func TestBanOfDestination(t *testing.T) {
	t.Parallel()
	here := argo.Destination{Server: argo.Server}
	for name, tt := range map[string]struct {
		list string
		of   argo.Destination
		by   string
		ok   bool
	}{
		"none":                        {list: `[]`, of: here},
		"by its address":              {list: `[{"server":"https://kubernetes.default.svc","namespace":"shop"}]`, of: here, ok: true},
		"by its name":                 {list: `[{"name":"in-cluster","namespace":"shop"}]`, of: argo.Destination{Name: "in-cluster"}, ok: true},
		"named otherwise here":        {list: `[{"name":"hub","namespace":"shop"}]`, of: here, ok: true}, // it may be called so
		"another address":             {list: `[{"server":"https://elsewhere","namespace":"shop"}]`, of: here},
		"another namespace":           {list: `[{"server":"*","namespace":"web"}]`, of: here},
		"pattern":                     {list: `[{"server":"https://*","namespace":"sh*"}]`, of: here, ok: true},
		"no cluster":                  {list: `[{"namespace":"*"}]`, of: here},
		"denied namespace":            {list: `[{"server":"*","namespace":"*"},{"server":"*","namespace":"!shop"}]`, of: here, by: "{server: *, namespace: !shop}"},
		"denied cluster":              {list: `[{"server":"*","namespace":"*"},{"server":"!https://kubernetes.default.svc","namespace":"*"}]`, of: here, by: "{server: !https://kubernetes.default.svc, namespace: *}"},
		"denied cluster by name":      {list: `[{"name":"*","namespace":"*"},{"name":"!prod","namespace":"web"}]`, of: argo.Destination{Name: "prod"}, by: "{name: !prod, namespace: web}"},
		"other namespaces are denied": {list: `[{"server":"*","namespace":"!web"}]`, of: here, ok: true},
		"known by name, listed by address": {list: `[{"server":"https://10.0.0.1","namespace":"shop"}]`,
			of: argo.Destination{Name: "prod"}, ok: true}, // it may be that one
		"known by name, in another namespace": {list: `[{"server":"https://10.0.0.1","namespace":"web"}]`, of: argo.Destination{Name: "prod"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			field := "destinations"
			if tt.ok {
				field = ""
			}
			wantBan(t, permissions(t, `{"destinations":`+tt.list+`}`).BanOfDestination(tt.of, "shop"), field, tt.by)
		})
	}
}

// Whatever stands in a project, there is an answer; what a list denies is not
// permitted by another entry, and what * permits is not denied by what is missing.
func FuzzPermissions(f *testing.F) {
	f.Add("apps", "Deployment", "https://git.example/shop.git", "https://kubernetes.default.svc", "shop", `[{"group":"*","kind":"*"}]`, `[{"server":"!a","name":"!b","namespace":"{a,[!"}]`, `["!git@x:y","**"]`)
	f.Add("", "Namespace", "git@git.example:shop", "", "", `[{"group":"[","kind":"\\"}]`, `[{"server":"[z-a]","namespace":"!*"}]`, `["%zz","ssh://"]`)
	f.Add("a", "b", "::", "in-cluster", "x{", `null`, `[{}]`, `["***/***"]`)
	f.Fuzz(func(t *testing.T, group, kind, repository, cluster, namespace, kinds, destinations, repositories string) {
		spec := `{"sourceRepos":` + repositories + `,"destinations":` + destinations +
			`,"clusterResourceWhitelist":` + kinds + `,"namespaceResourceBlacklist":` + kinds + `}`
		var p argo.Permissions
		if json.Unmarshal([]byte(spec), &p) != nil {
			return
		}
		k := argo.GroupKind{Group: group, Kind: kind}
		if (p.BanOfKind(k, false) == nil) != (p.BanOfKind(k, true) != nil) && len(p.ClusterResourceWhitelist) > 0 {
			t.Errorf("%v is both, or neither, among %s", k, kinds)
		}
		for _, d := range []argo.Destination{{Server: cluster}, {Name: cluster}} {
			if ban := p.BanOfDestination(d, namespace); ban != nil && ban.Field == "" {
				t.Error("no field")
			}
		}
		ban := p.BanOfSource(repository)
		wide := argo.Permissions{SourceRepos: append([]string{"*"}, p.SourceRepos...)}
		if again := wide.BanOfSource(repository); again != nil && (ban == nil || ban.By != again.By) {
			t.Errorf("* takes %q away: %+v, then %+v", repository, ban, again)
		}
	})
}
