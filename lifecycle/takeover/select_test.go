package takeover_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/receipt"
)

// shopFacts are those of a target with the Deployments api and mail, delivered by an
// Application each, and a working tree that changes image api.
func shopFacts(t *testing.T) takeover.Facts {
	t.Helper()
	c, err := catalogue.Parse("pharos.yaml", []byte(`apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {package: ./services/api}}
  inputs: [services/api]
  run: {go: {}, env: [DB_*]}
- name: mail
  build: {dockerfile: {}}
  inputs: [services/mail]
  run: {command: [python, -m, mail]}
- name: site
  build: {files: {from: site}}
  inputs: [site]
delivery: [gitops/**]
`))
	if err != nil {
		t.Fatal(err)
	}
	f := takeover.Facts{
		Target: "devbox", ClusterUID: "c1", Applied: "sha256:1111111111111111", Live: "sha256:1111111111111111", Tree: "t2",
		Record: &receipt.Record{Commit: "c0ffee00c0ffee00", Reads: []string{"services/api/shared.yaml"}},
		Images: c.Images, Delivery: c.Delivery,
		Changes:     []catalogue.PathClass{{Path: "services/api/main.go", Class: catalogue.ClassBuild, Images: []string{"api"}}, {Path: "README.md", Class: catalogue.ClassNeutral}},
		Deployments: map[types.NamespacedName][]byte{},
		Applications: map[string]takeover.Healer{
			"Application argocd/shop-api": {Name: "Application argocd/shop-api"}, "Application argocd/shop-mail": {Name: "Application argocd/shop-mail"},
		},
	}
	for _, img := range c.Images {
		f.Record.Images = append(f.Record.Images, receipt.Image{Name: img.Name, Fingerprint: "sha256:old", Repository: "registry/shop/" + img.Name, Digest: digest(img.Name)})
		fingerprint := "sha256:old"
		if img.Name == "api" {
			fingerprint = "sha256:new"
		}
		f.States = append(f.States, catalogue.State{Image: img, Fingerprint: catalogue.Fingerprint(fingerprint)})
	}
	declare(&f, "apps", "Deployment", "api", "Application argocd/shop-api", containers("api"))
	declare(&f, "apps", "Deployment", "mail", "Application argocd/shop-mail", containers("mail"))
	return f
}

// digest is one for a name.
func digest(name string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(name))) }

func containers(images ...string) string {
	var list []string
	for _, i := range images {
		list = append(list, fmt.Sprintf(`{"name":%q,"image":%q,"env":[{"name":"DB_HOST","value":"db"},{"name":"HOME","value":"/"}]}`, i, "registry/shop/"+i+"@"+digest(i)))
	}
	return `{"template":{"spec":{"containers":[` + strings.Join(list, ",") + `]}}}`
}

// liveOf is a Deployment as it is on the target, with more in its metadata.
func liveOf(name, more, spec string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"` + name + `","namespace":"shop","labels":{"pharos.dev/target":"devbox"},"uid":"uid-` + name + `","generation":1` + more + `},"spec":` + spec +
		`,"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1}}`
}

// declare adds an object to the facts, that is on the target as it is declared.
func declare(f *takeover.Facts, group, kind, name, by, spec string) {
	o := receipt.Object{Group: group, Version: "v1", Kind: kind, Namespace: "shop", Name: name, Hash: "sha256:" + name}
	d := takeover.Declared{Object: o, By: by, JSON: []byte(`{"apiVersion":"apps/v1","kind":"` + kind + `","metadata":{"name":"` + name + `","namespace":"shop"},"spec":` + spec + `}`)}
	f.Declared, f.Record.Objects = append(f.Declared, d), append(f.Record.Objects, o)
	if kind == "Deployment" {
		f.Deployments[types.NamespacedName{Namespace: "shop", Name: name}] = []byte(liveOf(name, "", spec))
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	p := takeover.Select(shopFacts(t))
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if len(p.Workloads) != 1 || !slices.Equal(p.Covers, []string{"shop-api"}) || len(p.Warnings) > 0 {
		t.Fatalf("planned %+v", p)
	}
	w := p.Workloads[0]
	if w.Subject() != "Deployment shop/api" || w.Container != "api" || w.Image != "api" || w.UID != "uid-api" || w.Returns != "Application argocd/shop-api" ||
		!slices.Equal(w.Command, []string{"go", "run", "./services/api"}) || len(w.Environment) != 1 || w.Environment[0].Name != "DB_HOST" || len(w.Live) == 0 || len(w.Declared) == 0 {
		t.Errorf("the workload is %+v", w)
	}
	if want := (takeover.ChangedImage{Name: "api", Reason: "its inputs (services/api/main.go) changed"}); !slices.Equal(p.Changed, []takeover.ChangedImage{want}) {
		t.Errorf("changed are %v", p.Changed)
	}
	out, err := json.Marshal(p)
	const want = `{"target":"devbox","clusterUID":"c1","receipt":"sha256:1111111111111111","commit":"c0ffee00c0ffee00","tree":"t2",` +
		`"changed":[{"name":"api","reason":"its inputs (services/api/main.go) changed"}],` +
		`"workloads":[{"namespace":"shop","name":"api","uid":"uid-api","container":"api","image":"api","application":"Application argocd/shop-api",` +
		`"returns":"Application argocd/shop-api","command":["go","run","./services/api"],"environment":[{"name":"DB_HOST","from":"the manifest"}]}],"covers":["shop-api"]}`
	if err != nil || string(out) != want {
		t.Errorf("as JSON, %v:\n%s\nwant\n%s", err, out, want)
	}
}

// Names narrow what is taken over, or add to it.
func TestSelectNames(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"deploy/mail": "mail", "mail": "mail", "shop/mail": "mail", "deployments.apps/mail": "mail", "api mail": "api mail", "deploy/api": "api", "": "api",
	} {
		p := takeover.Select(shopFacts(t), strings.Fields(names)...)
		var got []string
		for _, w := range p.Workloads {
			got = append(got, w.Name)
		}
		if p.Err() != nil || strings.Join(got, " ") != want {
			t.Errorf("%q takes over %v, %v; want %s", names, got, p.Err(), want)
		}
		left := names != "" && !strings.Contains(want, "api")
		if left != (len(p.Warnings) == 1 && p.Warnings[0].Subject == "Deployment shop/api") {
			t.Errorf("%q warns of %v", names, p.Warnings)
		}
	}
	f := shopFacts(t)
	declare(&f, "apps", "Deployment", "worker", "Application argocd/shop-api", containers("api"))
	p := takeover.Select(f, "worker")
	if len(p.Workloads) != 1 || p.Workloads[0].Name != "worker" || p.Workloads[0].Image != "api" {
		t.Errorf("a Deployment by its name: %+v, %v", p.Workloads, p.Err())
	}
	if p := takeover.Select(f); len(p.Workloads) != 2 || len(p.Covers) != 1 {
		t.Errorf("all that use an image: %+v, %v", p, p.Err())
	}
}

func TestSelectNothing(t *testing.T) {
	t.Parallel()
	f := shopFacts(t)
	f.States[0].Fingerprint, f.Changes = "sha256:old", nil
	p := takeover.Select(f)
	if !p.Unchanged() || !errors.Is(p.Err(), takeover.ErrUnchanged) || !strings.Contains(p.Err().Error(), "as receipt") {
		t.Errorf("nothing changed: %v", p.Err())
	}
	if p := takeover.Select(f, "api"); p.Unchanged() || len(p.Workloads) != 1 {
		t.Errorf("what is named is taken over all the same: %v", p.Err())
	}
}

// Each reason for which nothing is taken over.
func TestSelectBlocks(t *testing.T) {
	t.Parallel()
	api := types.NamespacedName{Namespace: "shop", Name: "api"}
	edit := func(path string, class catalogue.Class) func(*takeover.Facts) {
		return func(f *takeover.Facts) {
			f.Changes = append(f.Changes, catalogue.PathClass{Path: path, Class: class, Images: []string{"api"}})
		}
	}
	live := func(doc string) func(*takeover.Facts) {
		return func(f *takeover.Facts) { f.Deployments[api] = []byte(doc) }
	}
	for name, c := range map[string]struct {
		change func(*takeover.Facts)
		names  []string
		want   string
	}{
		"nothing delivered": {func(f *takeover.Facts) { f.Applied, f.Live, f.Record = "", "", nil }, nil, "nothing was delivered to it yet"},
		"nothing live":      {func(f *takeover.Facts) { f.Live, f.Record = "", nil }, nil, "is only applied"},
		"applied is not live": {func(f *takeover.Facts) { f.Applied = "sha256:2222222222222222" }, nil,
			"the applied receipt 222222222222 is not the live one, 111111111111"},
		"unreadable": {func(f *takeover.Facts) {
			f.Unreadable = []lifecycle.Unreadable{{What: "the live receipt", Err: receipt.ErrCorrupt}}
		}, nil, "cannot be read"},
		"delivered path":              {edit("gitops/api.yaml", catalogue.ClassDeliver), nil, "is delivered, and a workstation cannot show it\n    gitops/api.yaml"},
		"input that the render reads": {edit("services/api/shared.yaml", catalogue.ClassBuild), nil, "    services/api/shared.yaml"},
		"input that is delivered":     {edit("gitops/api/input.txt", catalogue.ClassBuild), nil, "    gitops/api/input.txt"},
		"unknown path":                {edit("new.txt", catalogue.ClassUnknown), []string{"api"}, "no pattern of pharos.yaml knows what it changes\n    new.txt"},
		"no fingerprint": {func(f *takeover.Facts) {
			f.Failed = []*catalogue.ImageError{{Image: "site", Err: errors.New("a loop")}}
		}, nil, "it has no fingerprint: a loop"},
		"image gone":              {func(f *takeover.Facts) { f.Images = f.Images[:2] }, nil, "image site: the working tree's catalogue has it no more"},
		"image that nothing uses": {func(f *takeover.Facts) { f.States[2].Fingerprint = "sha256:new" }, nil, "image site: no workload of the live receipt uses it"},
		"no run":                  {func(f *takeover.Facts) { f.Images[0].Run = nil }, nil, "does not say how image api runs on a workstation"},
		"another kind":            {func(f *takeover.Facts) { declare(f, "apps", "StatefulSet", "db", "", containers("api")) }, nil, "StatefulSet shop/db: it uses image api"},
		"a custom resource": {func(f *takeover.Facts) {
			declare(f, "x.dev", "Fleet", "db", "", `{"image":"registry/shop/api@`+digest("api")+`"}`)
		}, nil, "Fleet shop/db: it uses image api"},
		"an initContainer": {func(f *takeover.Facts) {
			declare(f, "apps", "Deployment", "job", "", `{"template":{"spec":{"containers":[],"init`+strings.ToUpper("c")+strings.TrimPrefix(containers("api"), `{"template":{"spec":{"c`))
		}, nil, "initContainer api uses image api"},
		"two containers": {func(f *takeover.Facts) {
			f.States[1].Fingerprint = "sha256:new"
			declare(f, "apps", "Deployment", "both", "", containers("api", "mail"))
		}, nil, "its containers api and mail use images"},
		"a name that nobody has": {func(*takeover.Facts) {}, []string{"deploy/nobody"}, "deploy/nobody: no Deployment or image of the live receipt is called so: there are deploy/api, deploy/mail"},
		"another rendering":      {func(f *takeover.Facts) { f.Record.Objects[0].Hash = "sha256:other" }, nil, "what commit c0ffee00c0ff renders to is not what receipt"},
		"not there":              {func(f *takeover.Facts) { delete(f.Deployments, api) }, nil, "it is not on the target"},
		"of an operator":         {live(liveOf("api", `,"ownerReferences":[{"apiVersion":"x.dev/v1","kind":"Fleet","name":"shop","uid":"u","controller":true}]`, containers("api"))), nil, "belongs to Fleet shop"},
		"paused":                 {live(liveOf("api", "", `{"paused":true,`+containers("api")[1:])), nil, "is paused"},
		"nobody heals":           {func(f *takeover.Facts) { f.Applications = nil }, nil, "nothing would put it back if this machine were gone"},
		"an Application that heals not": {func(f *takeover.Facts) {
			f.Applications["Application argocd/shop-api"] = takeover.Healer{Name: "Application argocd/shop-api", Why: "selfHeal is off"}
		}, nil, "Application argocd/shop-api would not: selfHeal is off"},
		"a controller that is not there": {func(f *takeover.Facts) {
			f.Applications, f.Controller = nil, takeover.Healer{Name: "the controller", Why: "it does not run", Namespaces: []string{"shop"}}
		}, nil, "the controller would not: it does not run"},
		"a controller without rights there": {func(f *takeover.Facts) {
			f.Applications, f.Controller = nil, takeover.Healer{Name: "the controller", Namespaces: []string{"pharos"}}
		}, nil, "the controller would not: it has no rights in namespace shop, which a deploy gives it: kubectl pharos deploy"},
		"a controller that does not say where": {func(f *takeover.Facts) {
			f.Applications, f.Controller = nil, takeover.Healer{Name: "the controller"}
		}, nil, "the controller would not: it has no rights in namespace shop"},
	} {
		f := shopFacts(t)
		c.change(&f)
		p := takeover.Select(f, c.names...)
		class, other := lifecycle.ErrBlocked, takeover.ErrUnknownWorkload
		if name == "a name that nobody has" {
			class, other = other, class // the name is wrong, and nothing is in the way
		}
		if err := p.Err(); !errors.Is(err, class) || errors.Is(err, other) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// All that stands in the way is said at once.
func TestSelectBlocksAll(t *testing.T) {
	t.Parallel()
	f := shopFacts(t)
	f.Images[0].Run, f.Applications = nil, nil
	f.Changes = append(f.Changes, catalogue.PathClass{Path: "gitops/a", Class: catalogue.ClassDeliver}, catalogue.PathClass{Path: "x", Class: catalogue.ClassUnknown})
	if p := takeover.Select(f); len(p.Blocked) != 4 {
		t.Errorf("blocked by %+v", p.Blocked)
	}
}

func TestSelectWarns(t *testing.T) {
	t.Parallel()
	f := shopFacts(t)
	f.Reasons = map[string][]catalogue.Reason{"api": {{Kind: catalogue.ReasonBase, Field: "base", Old: &catalogue.Value{Text: "alpine@sha256:1"}, New: &catalogue.Value{Text: "alpine@sha256:2"}}}}
	f.Deployments[types.NamespacedName{Namespace: "shop", Name: "api"}] = []byte(liveOf("api", "", `{"strategy":{"type":"Recreate"},`+containers("api")[1:]))
	declare(&f, "autoscaling", "HorizontalPodAutoscaler", "api", "", `{"scaleTargetRef":{"kind":"Deployment","name":"api"}}`)
	p := takeover.Select(f)
	all := fmt.Sprint(p.Warnings)
	for _, want := range []string{"does not show", "Recreate", "HorizontalPodAutoscaler shop/api scales it"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not among the warnings: %s", want, all)
		}
	}
	if p.Err() != nil || len(p.Warnings) != 3 {
		t.Errorf("%v, %v", p.Err(), p.Warnings)
	}
}

// A controller that lives is enough where Argo CD does not heal.
func TestSelectController(t *testing.T) {
	t.Parallel()
	f := shopFacts(t)
	f.Applications, f.Controller = nil, takeover.Healer{Name: "the controller of target devbox", Namespaces: []string{"pharos", "shop"}}
	if p := takeover.Select(f); p.Err() != nil || p.Workloads[0].Returns != "the controller of target devbox" {
		t.Errorf("%+v, %v", p.Workloads, p.Err())
	}
}
