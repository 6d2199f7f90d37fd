package argo

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Server is the address by which an Argo CD names the cluster that it runs in, and
// inCluster what it calls that unless it is told another name.
const (
	Server    = "https://kubernetes.default.svc"
	inCluster = "in-cluster"
)

// Permissions are what an AppProject says of what its Applications may deliver.
// The lists of kinds permit by themselves: clusterResourceWhitelist what stands in
// it, namespaceResourceWhitelist everything where it is not there. What a
// blacklist has is denied.
type Permissions struct {
	SourceRepos                []string      `json:"sourceRepos"`
	Destinations               []Destination `json:"destinations"`
	ClusterResourceWhitelist   []GroupKind   `json:"clusterResourceWhitelist"`
	ClusterResourceBlacklist   []GroupKind   `json:"clusterResourceBlacklist"`
	NamespaceResourceWhitelist []GroupKind   `json:"namespaceResourceWhitelist"` // nil is no list, which is not an empty one
	NamespaceResourceBlacklist []GroupKind   `json:"namespaceResourceBlacklist"`
}

// GroupKind is a kind, or a pattern of kinds.
type GroupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// String is how messages name a kind: "Deployment of apps".
func (g GroupKind) String() string {
	if g.Group == "" {
		return g.Kind
	}
	return g.Kind + " of " + g.Group
}

// Ban is why a project does not permit something.
type Ban struct {
	// Field is that of the project's spec: "clusterResourceWhitelist".
	Field string
	// By is the entry that denies it; empty where no entry permits it.
	By string
}

// BanOfKind returns why a project does not permit a kind, nil if it does.
func (p Permissions) BanOfKind(k GroupKind, namespaced bool) *Ban {
	white, black, field := p.ClusterResourceWhitelist, p.ClusterResourceBlacklist, "clusterResource"
	everything := false
	if namespaced {
		white, black, field = p.NamespaceResourceWhitelist, p.NamespaceResourceBlacklist, "namespaceResource"
		everything = white == nil
	}
	if by, ok := among(black, k); ok {
		return &Ban{Field: field + "Blacklist", By: by.String()}
	}
	if _, ok := among(white, k); !ok && !everything {
		return &Ban{Field: field + "Whitelist"}
	}
	return nil
}

func among(list []GroupKind, k GroupKind) (GroupKind, bool) {
	for _, entry := range list {
		if matches(entry.Kind, k.Kind) && matches(entry.Group, k.Group) {
			return entry, true
		}
	}
	return GroupKind{}, false
}

// matches is a shell pattern's; one that is malformed matches nothing.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// BanOfSource returns why a project does not permit sources of a repository, nil if
// it does. A repository that only credentials of the project's own permit is not
// known here.
func (p Permissions) BanOfSource(repository string) *Ban {
	const field = "sourceRepos"
	of, permitted := normalized(repository), false
	for _, entry := range p.SourceRepos {
		pattern, deny := strings.CutPrefix(entry, "!")
		switch pattern = normalized(pattern); {
		case deny && glob(pattern, of, "/"):
			return &Ban{Field: field, By: entry}
		case deny, pattern == "*", glob(pattern, of, "/"): // what denies others permits this one
			permitted = true
		}
	}
	if !permitted {
		return &Ban{Field: field}
	}
	return nil
}

// withUser is an address of Git with a user: its short form of ssh, mostly.
var withUser = regexp.MustCompile(`^(ssh://)?[^/:]*@[^@]+$`)

// normalized is a repository's address, or a pattern of such, in the form in which
// projects compare them. Unlike repository, it keeps the user.
func normalized(address string) string {
	s := strings.ToLower(strings.TrimSpace(address))
	if withUser.MatchString(s) && !strings.HasPrefix(s, "ssh://") {
		s = "ssh://" + strings.Replace(s, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(s, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.String(), "ssh://")
}

// BanOfDestination returns why a project does not permit a namespace of a
// destination's cluster, nil if it does. Of a cluster either its name or its
// address is known, and what stands in the project of the other may be true of it:
// that permits, and does not deny. A cluster that only credentials of the
// project's own permit is not known here.
func (p Permissions) BanOfDestination(d Destination, namespace string) *Ban {
	const field = "destinations"
	if d.Name == inCluster {
		d = Destination{Server: Server}
	}
	permitted := false
	for _, entry := range p.Destinations {
		name, server := half(entry.Name, d.Name), half(entry.Server, d.Server)
		pattern, deny := strings.CutPrefix(entry.Namespace, "!")
		here := glob(pattern, namespace, "") != deny
		switch {
		case (name.matched || server.matched) && here:
			permitted = true
		case name.denied, server.denied && here, !here && deny && server.matched && d.Server != "":
			return &Ban{Field: field, By: entry.String()}
		}
	}
	if !permitted {
		return &Ban{Field: field}
	}
	return nil
}

// halfMatch is what one of the two names of a cluster comes to.
type halfMatch struct{ matched, denied bool }

// half compares a name of a cluster with an entry's; empty is one that is not
// known.
func half(entry, name string) halfMatch {
	pattern, deny := strings.CutPrefix(entry, "!")
	if name == "" {
		return halfMatch{matched: entry != ""}
	}
	matched := glob(pattern, name, "") != deny
	return halfMatch{matched: matched, denied: !matched && deny}
}

// String is how messages name a destination: "{server: *, namespace: shop}".
func (d Destination) String() string {
	var parts []string
	for _, f := range []struct{ name, value string }{{"server", d.Server}, {"name", d.Name}, {"namespace", d.Namespace}} {
		if f.value != "" {
			parts = append(parts, f.name+": "+f.value)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Has says whether a list that a Ban names is there.
func (p Permissions) Has(field string) bool {
	return map[string]bool{
		"sourceRepos": p.SourceRepos != nil, "destinations": p.Destinations != nil,
		"clusterResourceWhitelist": p.ClusterResourceWhitelist != nil, "clusterResourceBlacklist": p.ClusterResourceBlacklist != nil,
		"namespaceResourceWhitelist": p.NamespaceResourceWhitelist != nil, "namespaceResourceBlacklist": p.NamespaceResourceBlacklist != nil,
	}[field]
}

// Accepted says whether the controller has looked at an Application, and found its
// project to permit its sources and its destination.
func (a *Application) Accepted() bool {
	return !a.Status.ReconciledAt.IsZero() && !slices.ContainsFunc(a.Status.Conditions, func(c Condition) bool { return c.Type == "InvalidSpecError" })
}

// StatusOf is what the last comparison said of a resource: "Synced", and "Unknown"
// of a kind that the project does not permit; empty if it did not say.
func (a *Application) StatusOf(group, kind, namespace, name string) string {
	for _, r := range a.Status.Resources {
		if r.Group == group && r.Kind == kind && r.Namespace == namespace && r.Name == name {
			return r.Status
		}
	}
	return ""
}
