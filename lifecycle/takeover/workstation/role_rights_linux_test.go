package workstation_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// right is one verb that docs/takeover.md names for a session.
type right struct {
	rbacv1.PolicyRule
	clusterWide, optional bool
}

func (r right) String() string { return r.Verbs[0] + " " + r.Resources[0] }

// documentedRights are those of the page, one verb each.
func documentedRights(t *testing.T) (list []right) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/takeover.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Rights\n")
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	wide := false
	for line := range strings.Lines(text) {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			wide = strings.TrimSpace(kind) == "ClusterRole"
		}
		doc, ok := strings.CutPrefix(line, "- ")
		if !ok {
			continue
		}
		var rule rbacv1.PolicyRule
		if err := yaml.UnmarshalStrict([]byte(doc), &rule); err != nil {
			t.Fatal(err)
		}
		for _, verb := range rule.Verbs {
			one := right{PolicyRule: *rule.DeepCopy(), clusterWide: wide, optional: strings.Contains(line, "# without it, a warning")}
			one.Verbs = []string{verb}
			list = append(list, one)
		}
	}
	return list
}

// rightsOf are rights for a shop, with those that its hand-back needs to look at what
// was delivered.
func rightsOf(s *takeovertest.Shop, list []right) (r devtest.Rights) {
	for _, one := range list {
		rule := *one.DeepCopy()
		for i, name := range rule.ResourceNames {
			rule.ResourceNames[i] = strings.ReplaceAll(name, "devbox", s.Namespace)
			if name == "pharos" { // the namespace of the records
				rule.ResourceNames[i] = s.Namespace
			}
		}
		if one.clusterWide {
			r.ClusterWide = append(r.ClusterWide, rule)
		} else {
			r.Namespaced = append(r.Namespaced, rule)
		}
	}
	r.Namespaced = append(r.Namespaced, delivered...)
	return r
}

// delivered is to list what the shop delivers.
var delivered = []rbacv1.PolicyRule{
	{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}},
}

// takeOverAs takes the api over and hands it back as somebody.
func takeOverAs(t *testing.T, s *takeovertest.Shop, config *rest.Config) (warnings string, _ error) {
	t.Helper()
	s.Write(map[string]string{"api/main.txt": "api 2\n"})
	c, err := takeovertest.Config(t.Context(), s.Dir, s.Namespace, config, lease.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var session *takeover.Session
	asked, ended := make(chan error, 1), make(chan error, 1)
	c.Events = func(e takeover.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e.Type {
		case takeover.EventWarning:
			warnings += e.Reason + "\n"
		case takeover.EventServing:
			go func() { asked <- session.HandBack(t.Context()) }()
		}
	}
	if session, err = takeover.New(c); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- session.Run(t.Context()) }()
	err = <-ended
	if err == nil {
		err = <-asked
	}
	mu.Lock()
	defer mu.Unlock()
	return warnings, err
}

// A takeover needs the rights that docs/takeover.md shows, uses each of them, and needs
// no others.
func TestRightsOfASession(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	s := takeovertest.NewShop(t, cluster)
	before, list := s.Specs(), documentedRights(t)
	if len(list) < 10 {
		t.Fatalf("documented are %v", list)
	}
	config, user := devtest.User(t, cluster, s.Namespace, rightsOf(s, list))
	audit := devtest.RecordAudit(t, cluster)
	warnings, err := takeOverAs(t, s, config)
	if err != nil || strings.Contains(warnings, "it is not known") {
		t.Errorf("with all of them: %v\n%s", err, warnings)
	}
	var used []string
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		used = append(used, e.Verb+" "+e.Resource)
	}
	for _, one := range list {
		if !slices.Contains(used, one.String()) {
			t.Errorf("the right to %s is documented and not used", one)
		}
	}
	s.Whole(before)
}

// Where one of them is missing the error names it; where it is one that a takeover can
// do without, it says what it does not know, and goes on.
func TestEachRightOfASession(t *testing.T) {
	t.Parallel()
	cluster, list := devtest.Cluster(t), documentedRights(t)
	for i, missing := range list {
		t.Run(fmt.Sprint(missing, " ", strings.Join(missing.ResourceNames, ",")), func(t *testing.T) {
			t.Parallel()
			s := takeovertest.NewShop(t, cluster)
			before := s.Specs()
			config, _ := devtest.User(t, cluster, s.Namespace, rightsOf(s, slices.Delete(slices.Clone(list), i, i+1)))
			warnings, err := takeOverAs(t, s, config)
			if missing.optional {
				if err != nil || !strings.Contains(warnings, "it is not known") || !strings.Contains(warnings, "forbidden") {
					t.Errorf("got %v\n%s", err, warnings)
				}
				s.Whole(before)
				return
			}
			if want := fmt.Sprintf("cannot %s resource %q", missing.Verbs[0], missing.Resources[0]); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}
