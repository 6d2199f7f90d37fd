package standard_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

const targetHeader = "apiVersion: pharos.dev/v1alpha1\nkind: Target\nmetadata: {name: dev}\nspec:\n"

func TestParseTargets(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../catalogue/testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	others := `---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: small}
spec:
  registry: {push: registry.example.com}
  overlay: ./deploy/
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: argo}
spec:
  registry: {push: docker.io/dev, pull: "[::1]:5000"}
  overlay: .
  deliver: {argocd: {applications: [web, {name: api, path: ./a/}, {name: mail, paths: [c, b]}]}}
  git: {url: git@git.example.com:repo.git}
  buildkit: {address: tcp://buildkit.example.com:1234}
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: runner}
spec:
  registry: {push: localhost/dev}
  overlay: a
  deliver: {apply: {}}
  git: {url: ssh://git@git.example.com/repo.git, push: file:///srv/repo.git}
  buildkit: {runner: {address: unix:///run/buildkit.sock}}
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: jobs}
spec:
  registry: {push: localhost/dev}
  overlay: a
  git: {url: https://git.example.com/repo.git}
  buildkit:
    job:
      image: registry.example.com/buildkit:v1@sha256:0000000000000000000000000000000000000000000000000000000000000000
      cache: {claim: builds, maxSize: 20GB}
      registrySecret: registry
      gitSecret: git
      buildSecret: secrets
      sshSecret: keys
      resources: {requests: {cpu: "2"}, limits: {memory: 4Gi}}
      nodeSelector: {example.com/pool: builds}
  receipts: {keep: 20}
---
kind: Other
`
	got, err := standard.ParseTargets("pharos.yaml", append(example, others...))
	if err != nil {
		t.Fatal(err)
	}
	apply := standard.Deliver{Apply: &standard.ApplyDeliver{}}
	want := []standard.Target{{
		Name: "devbox", Context: "kind-dev", Namespace: "pharos",
		Registry: standard.Registry{Push: "localhost:5000/dev", Pull: "registry.pharos.svc:5000/dev", Insecure: true},
		Overlay:  "gitops/manifests/pharos/overlays/devbox",
		Deliver:  standard.Deliver{ArgoCD: &standard.ArgoCDDeliver{Namespace: "argocd", Root: "devbox"}},
		Git:      &standard.Git{URL: "http://git.pharos.svc/repo.git", Push: "http://localhost:3000/repo.git"},
		BuildKit: &standard.BuildKit{Job: &standard.BuildKitJob{Image: "moby/buildkit@sha256:c2a1f9a2c4e6b8d0a1c3e5f7092b4d6f8a0b2c4d6e8f0a1b3c5d7e9f1a3b5c7d", Pinned: "moby/buildkit@sha256:c2a1f9a2c4e6b8d0a1c3e5f7092b4d6f8a0b2c4d6e8f0a1b3c5d7e9f1a3b5c7d"}},
	}, {
		Name: "small", Namespace: "pharos", Overlay: "deploy", Deliver: apply,
		Registry: standard.Registry{Push: "registry.example.com", Pull: "registry.example.com"},
	}, {
		Name: "argo", Namespace: "pharos", Overlay: ".",
		Registry: standard.Registry{Push: "docker.io/dev", Pull: "[::1]:5000"},
		Deliver: standard.Deliver{ArgoCD: &standard.ArgoCDDeliver{Namespace: "argocd", Applications: []standard.ArgoCDApplication{
			{Name: "api", Paths: []string{"a"}}, {Name: "mail", Paths: []string{"b", "c"}}, {Name: "web"},
		}}},
		Git:      &standard.Git{URL: "git@git.example.com:repo.git", Push: "git@git.example.com:repo.git"},
		BuildKit: &standard.BuildKit{Address: "tcp://buildkit.example.com:1234"},
	}, {
		Name: "runner", Namespace: "pharos", Overlay: "a", Deliver: apply,
		Registry: standard.Registry{Push: "localhost/dev", Pull: "localhost/dev"},
		Git:      &standard.Git{URL: "ssh://git@git.example.com/repo.git", Push: "file:///srv/repo.git"},
		BuildKit: &standard.BuildKit{Runner: &standard.BuildKitRunner{Address: "unix:///run/buildkit.sock"}},
	}, {
		Name: "jobs", Namespace: "pharos", Overlay: "a", Deliver: apply,
		Registry: standard.Registry{Push: "localhost/dev", Pull: "localhost/dev"},
		Git:      &standard.Git{URL: "https://git.example.com/repo.git", Push: "https://git.example.com/repo.git"},
		BuildKit: &standard.BuildKit{Job: &standard.BuildKitJob{
			Image: "registry.example.com/buildkit:v1@sha256:" + strings.Repeat("0", 64), Pinned: "registry.example.com/buildkit:v1@sha256:" + strings.Repeat("0", 64), Cache: standard.BuildKitCache{Claim: "builds", MaxSize: "20GB"},
			RegistrySecret: "registry", GitSecret: "git", BuildSecret: "secrets", SSHSecret: "keys",
			Resources:    standard.BuildKitResources{Requests: map[string]string{"cpu": "2"}, Limits: map[string]string{"memory": "4Gi"}},
			NodeSelector: map[string]string{"example.com/pool": "builds"},
		}},
		Receipts: standard.Receipts{Keep: 20},
	}}
	for i := range want {
		if want[i].Receipts.Keep == 0 {
			want[i].Receipts.Keep = standard.DefaultReceipts
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// refusedSpecs are the lines of a spec, which begin in line 5 of the file, and
// what is wrong with them.
var refusedSpecs = []struct{ name, in, want string }{
	{"empty", "  {}\n", "p:5:3: spec.registry: is missing\np:5:3: spec.overlay: is missing"},
	{"no push", "  registry: {pull: localhost:5000}\n  overlay: a\n", "p:5:13: spec.registry.push: is missing"},
	{"scheme", spec("registry: {push: 'http://localhost:5000'}"),
		"p:6:20: spec.registry.push: has a scheme: leave it out, and write insecure: true if the registry speaks plain HTTP"},
	{"trailing slash", spec("registry: {push: localhost:5000/}"), `p:6:20: spec.registry.push: is "localhost:5000/": leave the / at its end out`},
	{"tag", spec("registry: {push: localhost:5000/a:b}"), `p:6:20: spec.registry.push: is "localhost:5000/a:b", which has a tag: leave it out, since images are named by digest`},
	{"credentials", spec("registry: {push: 'me:hunter2@localhost:5000'}"),
		"p:6:20: spec.registry.push: has an @: write host and folder only; credentials come from the Docker configuration, digests from builds"},
	{"no host", spec("registry: {push: dev}"), `p:6:20: spec.registry.push: is "dev", and must begin with the registry's host: write docker.io/dev if that is meant`},
	{"capitals", spec("registry: {push: localhost/Dev, insecure: maybe}"), "" +
		`p:6:20: spec.registry.push: is "localhost/Dev", which is no registry or folder of one: host[:port][/folder], in lower case` + "\n" +
		`p:6:45: spec.registry.insecure: must be true or false, not the string "maybe"`},
	{"overlay outside", "  registry: {push: localhost}\n  overlay: a/../../b\n", `p:6:12: spec.overlay: is "a/../../b", which leaves the tree: a commit is delivered from its own tree only`},
	{"absolute overlay", "  registry: {push: localhost}\n  overlay: /a\n", `p:6:12: spec.overlay: is "/a": a path is relative to the root of the tree, so leave the leading / out`},
	{"overlay with backslash", "  registry: {push: localhost}\n  overlay: a\\b\n", `p:6:12: spec.overlay: is "a\\b": the segments of a path are separated by /`},
	{"namespace", spec("namespace: Pharos", registry), "p:6:14: spec.namespace: is \"Pharos\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
		"and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
	{"no deliverer", spec("deliver: {}", registry), "p:6:12: spec.deliver: needs one of apply, argocd"},
	{"two deliverers", spec("deliver: {apply: {}, argocd: {root: a}}", registry), "p:6:12: spec.deliver: has apply and argocd, and must have exactly one of apply, argocd"},
	{"Argo CD without applications", spec("deliver: {argocd: {applications: []}}", registry), "p:6:36: spec.deliver.argocd.applications: is empty: name the Applications"},
	{"Application twice", spec("deliver: {argocd: {applications: [a, {name: a, path: b}]}}", registry), "p:6:47: spec.deliver.argocd.applications[1].name: is listed twice"},
	{"Application without folders", spec("deliver: {argocd: {applications: [{name: a, paths: []}]}}", registry), "p:6:54: spec.deliver.argocd.applications[0].paths: is empty: name the folders"},
	{"few receipts", spec("receipts: {keep: 9}", registry), "p:6:20: spec.receipts.keep: is 9, and must be from 10 to 1000"},
	{"a controller that ends nothing", spec("controller: {sweep: []}", registry), "p:6:23: spec.controller.sweep: is empty: name the resources, such as configmaps and jobs.batch"},
	{"a controller that ends everything", spec("controller: {sweep: ['*']}", registry), `p:6:24: spec.controller.sweep[0]: is "*", which is no resource such as configmaps or jobs.batch`},
	{"a controller that ends nothing somewhere", spec("controller: {sweepNamespace: a}", registry), "p:6:32: spec.controller.sweepNamespace: is given without sweep: nothing is swept then"},
	{"a controller that ends namespaces in one", spec("controller: {sweep: [namespaces], sweepNamespace: a}", registry), "p:6:23: spec.controller.sweep: has namespaces, which are in no namespace: leave it or sweepNamespace out"},
	{"apply with a field", spec("deliver: {apply: {force: true}}", registry), "p:6:21: spec.deliver.apply.force: is not known: no field is expected here"},
	{"Git with a password", spec("git: {url: 'https://me:hunter2@git.example.com/r'}", registry),
		"p:6:14: spec.git.url: has credentials, and this file is no place for them: use Git's credential helpers"},
	{"Git with a token", spec("git: {url: 'https://git.example.com/r?token=hunter2'}", registry), "p:6:14: spec.git.url: has a query or a fragment, which Git does not use"},
	{"Git that is no URL", spec("git: {url: 'https://%zz@hunter2'}", registry), "p:6:14: spec.git.url: is no well-formed URL"},
	{"Git by a path", spec("git: {push: ../repo}", registry), "" +
		"p:6:8: spec.git.url: is missing\n" +
		"p:6:15: spec.git.push: is no URL that Git fetches from, such as https://git.example.com/repo.git"},
	{"BuildKit", spec("buildkit: {address: 'localhost:1234'}", registry), "p:6:23: spec.buildkit.address: must be tcp://host:port or unix:///path"},
	{"BuildKit in a Job", spec("buildkit: {job: {image: 'moby/Buildkit', cache: {maxSize: much}, resources: {limits: {memory: lots}}, nodeSelector: {-: a}}}", registry), "" +
		"p:6:19: spec.buildkit.job: needs spec.git: Jobs fetch what they build from there\n" +
		`p:6:27: spec.buildkit.job.image: is "moby/Buildkit", which is no reference of an image, such as moby/buildkit:buildx-stable-1` + "\n" +
		"p:6:51: spec.buildkit.job.cache.claim: is missing\n" +
		"p:6:61: spec.buildkit.job.cache.maxSize: must be a size such as 20GB, or a share of the volume such as 50%\n" +
		`p:6:97: spec.buildkit.job.resources.limits.memory: is "lots", which is no quantity, such as 500m or 2Gi` + "\n" +
		`p:6:123: spec.buildkit.job.nodeSelector.-: the label is "-": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
		`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
	{"Git server for Jobs", spec("git: {url: 'ssh://git@git.example.com/r', push: 'git@git.example.com:r'}", "buildkit: {job: {image: 'moby/buildkit@sha256:"+strings.Repeat("0", 64)+"'}}", registry), "" +
		"p:6:14: spec.git.url: must begin with http:// or https://: spec.buildkit.job has inputs pushed, and fetched by Jobs, by Git's smart HTTP\n" +
		"p:6:51: spec.git.push: must begin with http:// or https://: spec.buildkit.job has inputs pushed, and fetched by Jobs, by Git's smart HTTP"},
	{"unknown", spec("regsitry: {}", registry), `p:6:3: spec.regsitry: is not known; did you mean "registry"?`},
}

const registry = "registry: {push: localhost}"

// spec is a spec with an overlay and the given lines.
func spec(lines ...string) string { return "  overlay: a\n  " + strings.Join(lines, "\n  ") + "\n" }

func TestParseTargetsRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range refusedSpecs {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkTargetProblems(t, targetHeader+tt.in, tt.want)
		})
	}
	good := targetHeader + spec(registry)
	for _, tt := range []struct{ name, in, want string }{
		{"no name", strings.Replace(good, "{name: dev}", "{}", 1), "p:3:11: metadata.name: is missing"},
		{"no spec", "apiVersion: pharos.dev/v1alpha1\nkind: Target\n", "p:1:1: metadata: is missing\np:1:1: spec: is missing"},
		{"version", strings.Replace(good, "v1alpha1", "v1", 1), `p:1:13: apiVersion: is "pharos.dev/v1", and must be pharos.dev/v1alpha1`},
		{"same name", good + "---\n" + good, `p:10:18: metadata.name: is "dev", and there is another target of that name`},
		{"no YAML", "a: [\n", "p:1: did not find expected node content"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkTargetProblems(t, tt.in, tt.want)
		})
	}
}

func checkTargetProblems(t *testing.T, in, want string) {
	t.Helper()
	targets, err := standard.ParseTargets("p", []byte(in))
	all, ok := errors.AsType[*catalogue.ProblemsError](err)
	if !ok || targets != nil {
		t.Fatalf("got %v and a %T (%v), want a *ProblemsError", targets, err, err)
	}
	if got := all.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("the error repeats a secret")
	}
}

func TestSelectTarget(t *testing.T) {
	t.Parallel()
	a, b := standard.Target{Name: "a"}, standard.Target{Name: "b"}
	for _, tt := range []struct {
		targets    []standard.Target
		name, want string
		err        string
		is         error
	}{
		{targets: []standard.Target{a}, want: "a"},
		{targets: []standard.Target{a, b}, name: "b", want: "b"},
		{err: "no such target: pharos.yaml has no document of kind Target, which says where to deliver", is: standard.ErrNoTarget},
		{name: "a", err: "no such target: pharos.yaml has no document of kind Target, which says where to deliver", is: standard.ErrNoTarget},
		{targets: []standard.Target{a, b}, err: "pharos.yaml has several targets: a, b", is: standard.ErrSeveralTargets},
		{targets: []standard.Target{a, b}, name: "c", err: `no such target: "c" is not among those of pharos.yaml: a, b`, is: standard.ErrNoTarget},
		{targets: []standard.Target{a}, name: "c", err: `no such target: "c" is not among those of pharos.yaml: a`, is: standard.ErrNoTarget},
	} {
		got, err := standard.SelectTarget(tt.targets, tt.name)
		if tt.err != "" {
			if !errors.Is(err, tt.is) || err.Error() != tt.err {
				t.Errorf("%d targets, name %q: got %v, want %s", len(tt.targets), tt.name, err, tt.err)
			}
		} else if err != nil || got.Name != tt.want {
			t.Errorf("%d targets, name %q: got %v, error %v", len(tt.targets), tt.name, got, err)
		}
	}
}

func FuzzParseTargets(f *testing.F) {
	for _, tt := range refusedSpecs {
		f.Add([]byte(targetHeader + tt.in))
	}
	f.Add([]byte(targetHeader + spec(registry)))
	f.Fuzz(func(t *testing.T, data []byte) {
		targets, err := standard.ParseTargets("p", data)
		if err != nil {
			all, ok := errors.AsType[*catalogue.ProblemsError](err)
			if !ok {
				t.Fatalf("a %T: %v", err, err)
			}
			for _, p := range all.List {
				if p.Line > bytes.Count(data, []byte("\n"))+1 {
					t.Errorf("a problem behind the end: %+v", p)
				}
			}
			return
		}
		for _, target := range targets {
			d := target.Deliver
			if target.Name == "" || target.Namespace == "" || target.Registry.Push == "" || target.Registry.Pull == "" || (d.Apply == nil) == (d.ArgoCD == nil) {
				t.Errorf("an incomplete target is accepted: %+v", target)
			}
		}
	})
}

func TestReadTargetsOfALink(t *testing.T) {
	t.Parallel()
	tree, err := source.FromFiles(map[string]source.File{
		"pharos.yaml": {Content: "config/pharos.yaml", Mode: source.ModeSymlink}, "config/pharos.yaml": {Content: "{}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = standard.ReadTargets(t.Context(), tree)
	if !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), "a symbolic link") || strings.Contains(err.Error(), "not found") {
		t.Errorf("%v, want an ErrSource that says that it is a link", err)
	}
}
