package standard

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/internal/strictyaml"
	"github.com/pharos-dev/pharos/lifecycle"
)

// parseTarget reads a document and adds its name to those that are taken.
func parseTarget(root strictyaml.Node, taken map[string]bool) Target {
	unique := func(name string) error {
		if taken[name] {
			return fmt.Errorf("is %q, and there is another target of that name", name)
		}
		taken[name] = true
		return nil
	}
	doc := root.Map("apiVersion", "kind", "metadata", "spec")
	doc.Required("apiVersion").String(strictyaml.Equal(catalogue.APIVersion))
	metadata := doc.Required("metadata").Map("name")
	spec := doc.Required("spec").Map("context", "namespace", "registry", "overlay", "deliver", "git", "buildkit", "receipts", "controller")
	buildkit := parseBuildKit(spec.Optional("buildkit"), spec.Optional("git"))
	return Target{
		Name:      metadata.Required("name").String(checkLabel, unique),
		Context:   spec.Optional("context").String(),
		Namespace: orDefault(spec.Optional("namespace").String(checkLabel), DefaultNamespace),
		Registry:  parseRegistry(spec.Required("registry")),
		Overlay:   path.Clean(spec.Required("overlay").String(checkFolder)),
		Deliver:   parseDeliver(spec.Optional("deliver")),
		Git:       parseGit(spec.Optional("git"), buildkit != nil && buildkit.Job != nil),
		BuildKit:  buildkit,
		Receipts:  parseReceipts(spec.Optional("receipts")),

		Controller: parseController(spec.Optional("controller")),
	}
}

func parseReceipts(n strictyaml.Node) Receipts {
	const most = 1000 // each is an object of the target
	if !n.Present() {
		return Receipts{Keep: DefaultReceipts}
	}
	r := Receipts{Keep: DefaultReceipts}
	if keep := n.Map("keep").Optional("keep"); keep.Present() {
		r.Keep = keep.Int(lifecycle.MinKeep, most)
	}
	return r
}

// parseController reads what the controller is asked for. It ends only what is named:
// rights for everything are nobody's.
func parseController(n strictyaml.Node) TargetController {
	if !n.Present() {
		return TargetController{}
	}
	fields := n.Map("sweep", "sweepNamespace", "inventory")
	c := TargetController{SweepNamespace: fields.Optional("sweepNamespace").String(checkLabel), Inventory: fields.Optional("inventory").Bool()}
	list := fields.Optional("sweep")
	if list.Present() {
		if c.Sweep = list.StringSet(checkResource); list.Empty() {
			list.Errorf("is empty: name the resources, such as configmaps and jobs.batch")
		}
		slices.Sort(c.Sweep)
	}
	switch {
	case c.SweepNamespace != "" && !list.Present():
		fields.Optional("sweepNamespace").Errorf("is given without sweep: nothing is swept then")
	case c.SweepNamespace != "" && slices.Contains(c.Sweep, namespacesResource):
		list.Errorf("has namespaces, which are in no namespace: leave it or sweepNamespace out")
	}
	return c
}

// checkResource accepts a resource as kubectl names it.
func checkResource(s string) error {
	r := schema.ParseGroupResource(s)
	if len(validation.IsDNS1035Label(r.Resource)) > 0 || r.Group != "" && len(validation.IsDNS1123Subdomain(r.Group)) > 0 {
		return fmt.Errorf("is %q, which is no resource such as configmaps or jobs.batch", s)
	}
	return nil
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

func parseRegistry(n strictyaml.Node) Registry {
	fields := n.Map("push", "pull", "insecure")
	push := fields.Required("push").String(checkRegistry)
	return Registry{
		Push:     push,
		Pull:     orDefault(fields.Optional("pull").String(checkRegistry), push),
		Insecure: fields.Optional("insecure").Bool(),
	}
}

func parseDeliver(n strictyaml.Node) Deliver {
	if !n.Present() {
		return Deliver{Apply: &ApplyDeliver{}}
	}
	kinds := n.Map("apply", "argocd")
	switch kinds.OneOf("apply", "argocd") {
	case "apply":
		kinds.Required("apply").Map()
		return Deliver{Apply: &ApplyDeliver{}}
	case "argocd":
		fields := kinds.Required("argocd").Map("namespace", "root", "applications")
		argo := &ArgoCDDeliver{Namespace: orDefault(fields.Optional("namespace").String(checkLabel), "argocd")}
		switch fields.OneOf("root", "applications") {
		case "root":
			argo.Root = fields.Required("root").String(checkSubdomain)
		case "applications":
			list := fields.Required("applications")
			if argo.Applications = parseApplications(list); list.Empty() {
				list.Errorf("is empty: name the Applications")
			}
		}
		return Deliver{ArgoCD: argo}
	}
	return Deliver{}
}

// parseApplications reads a list of Applications: each a name, or a mapping that
// says its folders too.
func parseApplications(n strictyaml.Node) []ArgoCDApplication {
	seen := map[string]bool{}
	unique := func(s string) error {
		if seen[s] {
			return errors.New("is listed twice")
		}
		seen[s] = true
		return nil
	}
	var list []ArgoCDApplication
	for _, item := range n.List() {
		if item.IsString() {
			list = append(list, ArgoCDApplication{Name: item.String(checkSubdomain, unique)})
			continue
		}
		fields := item.Map("name", "path", "paths")
		a := ArgoCDApplication{Name: fields.Required("name").String(checkSubdomain, unique)}
		switch fields.OneOf("path", "paths") {
		case "path":
			a.Paths = []string{path.Clean(fields.Required("path").String(checkFolder))}
		case "paths":
			paths := fields.Required("paths")
			for _, p := range paths.StringSet(checkFolder) {
				a.Paths = append(a.Paths, path.Clean(p))
			}
			if paths.Empty() {
				paths.Errorf("is empty: name the folders")
			}
		}
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b ArgoCDApplication) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// parseGit reads the addresses of a Git server, from which Jobs fetch or none do.
func parseGit(n strictyaml.Node, jobs bool) *Git {
	if !n.Present() {
		return nil
	}
	checks := []strictyaml.Check{checkGitURL}
	if jobs {
		checks = append(checks, checkSmartHTTP)
	}
	fields := n.Map("url", "push")
	fetch := fields.Required("url").String(checks...)
	return &Git{URL: fetch, Push: orDefault(fields.Optional("push").String(checks...), fetch)}
}

func checkLabel(s string) error     { return kubernetes(s, validation.IsDNS1123Label(s)) }
func checkSubdomain(s string) error { return kubernetes(s, validation.IsDNS1123Subdomain(s)) }

// kubernetes makes one error of what Kubernetes says of a name.
func kubernetes(s string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("is %q: %s", s, strings.Join(problems, "; "))
}

// checkFolder accepts a folder inside the tree.
func checkFolder(s string) error {
	switch clean := path.Clean(s); {
	case strings.Contains(s, `\`):
		return fmt.Errorf("is %q: the segments of a path are separated by /", s)
	case path.IsAbs(s):
		return fmt.Errorf("is %q: a path is relative to the root of the tree, so leave the leading / out", s)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return fmt.Errorf("is %q, which leaves the tree: a commit is delivered from its own tree only", s)
	}
	return nil
}

// checkRegistry accepts a registry's host and, if there is one, a folder. What
// may hold a password is not repeated in the error.
func checkRegistry(s string) error {
	host, folder, _ := strings.Cut(s, "/")
	switch {
	case strings.Contains(s, "://"):
		return errors.New("has a scheme: leave it out, and write insecure: true if the registry speaks plain HTTP")
	case strings.Contains(s, "@"):
		return errors.New("has an @: write host and folder only; credentials come from the Docker configuration, digests from builds")
	case strings.HasSuffix(s, "/"):
		return fmt.Errorf("is %q: leave the / at its end out", s)
	case strings.Contains(folder, ":"):
		return fmt.Errorf("is %q, which has a tag: leave it out, since images are named by digest", s)
	case host != "localhost" && !strings.ContainsAny(host, ".:"):
		return fmt.Errorf("is %q, and must begin with the registry's host: write docker.io/%s if that is meant", s, s)
	}
	if _, err := name.NewRepository(s + "/image"); err != nil {
		return fmt.Errorf("is %q, which is no registry or folder of one: host[:port][/folder], in lower case", s)
	}
	return nil
}

// scpAddress is Git's short form for ssh: user@host:path.
var scpAddress = lazyregexp.New(`^(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9_.-]+:[^:]+$`)

// checkGitURL accepts the URLs that Git fetches from and pushes to, without
// credentials. They are not repeated in the error.
func checkGitURL(s string) error {
	if !strings.Contains(s, "://") {
		if scpAddress.MatchString(s) {
			return nil
		}
		return errors.New("is no URL that Git fetches from, such as https://git.example.com/repo.git")
	}
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("is no well-formed URL")
	}
	_, password := u.User.Password()
	switch {
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh" && u.Scheme != "git" && u.Scheme != "file":
		return errors.New("must be a URL with the scheme https, http, ssh, git or file")
	case password || u.User != nil && u.Scheme != "ssh":
		return errors.New("has credentials, and this file is no place for them: use Git's credential helpers")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("has a query or a fragment, which Git does not use")
	case u.Host == "" && u.Scheme != "file":
		return errors.New("has no host")
	}
	return nil
}

// checkSmartHTTP accepts those Git URLs by which Jobs and package transport speak with
// a server.
func checkSmartHTTP(s string) error {
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return nil
	}
	return errors.New("must begin with http:// or https://: spec.buildkit.job has inputs pushed, and fetched by Jobs, by Git's smart HTTP")
}

// checkAddress accepts an address that BuildKit's clients dial.
func checkAddress(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "":
	case u.Scheme == "tcp" && u.Port() != "" && u.Hostname() != "" && u.Path == "":
		return nil
	case u.Scheme == "unix" && u.Host == "" && path.IsAbs(u.Path):
		return nil
	}
	return errors.New("must be tcp://host:port or unix:///path")
}
