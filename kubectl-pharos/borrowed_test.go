package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// longest is for what happens within seconds on an idle machine.
const longest = 5 * time.Minute

// borrowed is a target of the name devbox with one Application of a real Argo CD,
// which declares the ConfigMap settings. The target's namespace, the Application
// and its project have one name.
type borrowed struct {
	t              *testing.T
	argo           *devenv.ArgoCD
	name           string
	kube           kubernetes.Interface
	apps, projects dynamic.ResourceInterface
}

// newTarget returns a target without anything.
func newTarget(t *testing.T, a *devenv.ArgoCD) *borrowed {
	t.Helper()
	client, err := dynamic.NewForConfig(a.Cluster().Config())
	if err != nil {
		t.Fatal(err)
	}
	in := func(resource string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: resource}).Namespace(a.Namespace())
	}
	return &borrowed{t: t, argo: a, name: devtest.Namespace(t, a.Cluster()), kube: devtest.Client(t, a.Cluster().Config()), apps: in("applications"), projects: in("appprojects")}
}

// newBorrowed returns a target that is what Git declares.
func newBorrowed(t *testing.T, policy string) *borrowed {
	t.Helper()
	b := newTarget(t, devtest.ArgoCD(t))
	b.push("declared")
	b.create(b.projects, fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s}
spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]}
`, b.name))
	b.create(b.apps, b.application(policy))
	b.await("in sync", func(a *unstructured.Unstructured) bool {
		return text(a, "status", "sync", "status") == "Synced" && text(a, "status", "operationState", "phase") == "Succeeded" && a.Object["operation"] == nil
	})
	return b
}

func (b *borrowed) application(policy string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %[1]s}
spec:
  project: %[1]s
  source: {repoURL: %[2]q, targetRevision: main, path: .}
  destination: {server: "https://kubernetes.default.svc", namespace: %[1]s}
  syncPolicy: %[3]s
`, b.name, b.url(), policy)
}

func (b *borrowed) url() string { return b.argo.GitURL() + "/" + b.name + ".git" }

// push commits what Git declares.
func (b *borrowed) push(value string) {
	b.t.Helper()
	dir := repository(b.t, map[string]string{
		"settings.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {value: %s}\n", value),
	})
	git(b.t, dir, "push", "-q", "-f", b.url(), "main")
}

func (b *borrowed) create(in dynamic.ResourceInterface, doc string) {
	b.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
		b.t.Fatal(err)
	}
	if _, err := in.Create(b.t.Context(), o, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = in.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}) })
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// await waits until the Application is as wanted.
func (b *borrowed) await(what string, is func(*unstructured.Unstructured) bool) {
	b.t.Helper()
	b.follow(b.apps, b.name, what, is)
}

// follow waits until an object is as wanted.
func (b *borrowed) follow(in dynamic.ResourceInterface, name, what string, is func(*unstructured.Unstructured) bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), longest)
	defer cancel()
	w, err := in.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Stop()
	var last []byte
	for e := range w.ResultChan() {
		if o, ok := e.Object.(*unstructured.Unstructured); ok {
			if is(o) {
				return
			}
			o.SetManagedFields(nil)
			last, _ = json.MarshalIndent(o, "", " ")
		}
	}
	b.t.Fatalf("%s is not %s: %s", name, what, last)
}

// compared waits until Argo CD has looked at the Application anew.
func (b *borrowed) compared() {
	b.t.Helper()
	const refresh = "argocd.argoproj.io/refresh"
	b.merge(b.apps, `{"metadata": {"annotations": {"`+refresh+`": "normal"}}}`)
	b.await("compared", func(a *unstructured.Unstructured) bool { return a.GetAnnotations()[refresh] == "" })
}

func (b *borrowed) merge(in dynamic.ResourceInterface, patch string) {
	b.t.Helper()
	if _, err := in.Patch(b.t.Context(), b.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		b.t.Fatal(err)
	}
}

// annotate has somebody else change the project. It may run beside the test.
func (b *borrowed) annotate(key, value string) {
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, key, value)
	if _, err := b.projects.Patch(b.t.Context(), b.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		b.t.Error(err)
	}
}

// edit changes what is live, as a developer does.
func (b *borrowed) edit(patch string) {
	b.t.Helper()
	if _, err := b.kube.CoreV1().ConfigMaps(b.name).Patch(b.t.Context(), "settings", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

const edited = `{"data": {"value": "edited"}}`

// value is what is live.
func (b *borrowed) value() string {
	b.t.Helper()
	c, err := b.kube.CoreV1().ConfigMaps(b.name).Get(b.t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return c.Data["value"]
}

// restored waits until what is live is what Git declares, and the project is as it
// was.
func (b *borrowed) restored(before string) {
	b.t.Helper()
	b.follow(b.projects, b.name, "as before", func(p *unstructured.Unstructured) bool { return specOf(p) == before })
	if got := b.value(); got != "declared" {
		b.t.Errorf("live is %q", got)
	}
}

// spec is that of the project.
func (b *borrowed) spec() string {
	b.t.Helper()
	p, err := b.projects.Get(b.t.Context(), b.name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return specOf(p)
}

func specOf(o *unstructured.Unstructured) string {
	data, _ := json.Marshal(o.Object["spec"])
	return string(data)
}

func (b *borrowed) manager() *lease.Manager {
	b.t.Helper()
	config := b.argo.Cluster().Config()
	g, err := argocd.New(argocd.Config{REST: config, Namespace: b.argo.Namespace(), Applications: func(context.Context) ([]string, error) { return []string{b.name}, nil }})
	if err != nil {
		b.t.Fatal(err)
	}
	m, err := lease.New(lease.Config{REST: config, Namespace: b.name, Target: "devbox", Gate: g})
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// acquire borrows the target for a time. Nothing renews the lease, as if its
// holder had been killed right away.
func (b *borrowed) acquire(d time.Duration) {
	b.t.Helper()
	if _, err := b.manager().Acquire(b.t.Context(), lease.Request{Mode: lease.ModeBorrow, User: "ann@laptop", Purpose: "try something", For: d, Wait: longest}); err != nil {
		b.t.Fatal(err)
	}
}

// vanish borrows the target for half a minute, edits it, and is never heard of
// again.
func (b *borrowed) vanish() {
	b.t.Helper()
	b.acquire(30 * time.Second)
	b.edit(edited)
}

// leave borrows the target and edits it. Then somebody breaks the lease, and is
// killed before the gate is opened.
func (b *borrowed) leave(edit string) {
	b.t.Helper()
	b.acquire(10 * time.Minute)
	b.edit(edit)
	m, err := lease.New(lease.Config{REST: b.argo.Cluster().Config(), Namespace: b.name, Target: "devbox"}) // without a gate
	if err == nil {
		_, err = m.Break(b.t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "it is needed"})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// over waits until the lease has ended.
func (b *borrowed) over() {
	b.t.Helper()
	m := b.manager()
	for ctx := b.t.Context(); ; {
		s, err := m.Inspect(ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		if !s.Held {
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			b.t.Fatal("the lease never ended")
		}
	}
}

// stuck wants Argo CD to know of the edit, and not to do anything about it.
func (b *borrowed) stuck() {
	b.t.Helper()
	for range 2 {
		b.compared()
		b.await("known to differ", func(a *unstructured.Unstructured) bool { return text(a, "status", "sync", "status") == "OutOfSync" })
	}
	if got := b.value(); got != "edited" {
		b.t.Fatalf("Argo CD restored it to %q by itself", got)
	}
}

// installed are the objects of the controller as deploy makes them.
func (b *borrowed) installed() (objects []unstructured.Unstructured, args []string) {
	b.t.Helper()
	c := standard.Controller{Image: "registry.example/pharos", ArgoCD: &standard.ArgoCDDeliver{Namespace: b.argo.Namespace()}}
	steps, err := c.Prepare(b.t.Context(), lifecycle.PrepareRequest{Target: "devbox", Namespace: b.name})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, o := range steps[0].Apply {
		if o.Kind == "Deployment" {
			var d appsv1.Deployment
			if err := json.Unmarshal(o.JSON, &d); err != nil {
				b.t.Fatal(err)
			}
			args = d.Spec.Template.Spec.Containers[0].Args
			continue
		}
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON(o.JSON); err != nil {
			b.t.Fatal(err)
		}
		objects = append(objects, u)
	}
	return objects, args
}

// right is one verb of a rule of a role.
type right struct {
	namespace, verb, group, resource, name string
}

func (r right) String() string {
	return strings.TrimSpace(strings.Join([]string{r.verb, r.resource, r.name}, " "))
}

func rightsOf(role rbacv1.Role) (list []right) {
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			r := right{namespace: role.Namespace, verb: verb, group: rule.APIGroups[0], resource: rule.Resources[0]}
			if len(rule.ResourceNames) > 0 {
				r.name = rule.ResourceNames[0]
			}
			list = append(list, r)
		}
	}
	return list
}

// rights are those of the controller's account.
func (b *borrowed) rights() (list []right) {
	b.t.Helper()
	objects, _ := b.installed()
	for _, o := range objects {
		if o.GetKind() == "Role" {
			list = append(list, rightsOf(b.role(o))...)
		}
	}
	return list
}

func (b *borrowed) role(o unstructured.Unstructured) (role rbacv1.Role) {
	b.t.Helper()
	data, err := o.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &role)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return role
}

// account makes the controller's account with the rights that deploy gives it,
// all but those that are left out.
func (b *borrowed) account(without ...right) *rest.Config {
	b.t.Helper()
	ctx := b.t.Context()
	objects, _ := b.installed()
	var account string
	var granted []right
	for _, o := range objects {
		var err error
		switch o.GetKind() {
		case "ServiceAccount":
			account = o.GetName()
			_, err = b.kube.CoreV1().ServiceAccounts(b.name).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
		case "Role":
			role := b.role(o)
			var rules []rbacv1.PolicyRule
			for _, r := range rightsOf(role) {
				if slices.Contains(without, r) {
					continue
				}
				rule := rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
				if r.name != "" {
					rule.ResourceNames = []string{r.name}
				}
				rules, granted = append(rules, rule), append(granted, r)
			}
			role.Rules = rules
			_, err = b.kube.RbacV1().Roles(role.Namespace).Create(ctx, &role, metav1.CreateOptions{})
			b.t.Cleanup(func() {
				_ = b.kube.RbacV1().Roles(role.Namespace).Delete(context.Background(), role.Name, metav1.DeleteOptions{})
			})
		case "RoleBinding":
			var binding rbacv1.RoleBinding
			data, _ := o.MarshalJSON()
			if err := json.Unmarshal(data, &binding); err != nil {
				b.t.Fatal(err)
			}
			_, err = b.kube.RbacV1().RoleBindings(binding.Namespace).Create(ctx, &binding, metav1.CreateOptions{})
			b.t.Cleanup(func() {
				_ = b.kube.RbacV1().RoleBindings(binding.Namespace).Delete(context.Background(), binding.Name, metav1.DeleteOptions{})
			})
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	token, err := b.kube.CoreV1().ServiceAccounts(b.name).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(b.argo.Cluster().Config())
	config.BearerToken, config.QPS = token.Status.Token, -1
	b.awaitRights(config, granted)
	return config
}

// user is how the controller's account stands in the audit log.
func (b *borrowed) user() string {
	return "system:serviceaccount:" + b.name + ":pharos-devbox-controller"
}

// awaitRights waits until the API server has heard of rights.
func (b *borrowed) awaitRights(config *rest.Config, rights []right) {
	b.t.Helper()
	reviews := devtest.Client(b.t, config).AuthorizationV1().SelfSubjectAccessReviews()
	for _, r := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.namespace, Verb: r.verb, Group: r.group, Resource: r.resource, Name: r.name}}}
		for allowed := false; !allowed; {
			answer, err := reviews.Create(b.t.Context(), review, metav1.CreateOptions{})
			if err != nil {
				b.t.Fatal(err)
			}
			allowed = answer.Status.Allowed
		}
	}
}

// replica is a controller in a process of its own.
type replica struct {
	*process
	address string
	said    []string
}

// controller starts one as deploy would, with this connection.
func (b *borrowed) controller(config *rest.Config) *replica {
	b.t.Helper()
	_, args := b.installed()
	for i, a := range args {
		if strings.HasPrefix(a, "--health-address=") {
			args[i] = "--health-address=127.0.0.1:0"
		}
	}
	r := &replica{process: start(b.t, b.t.TempDir(), []string{"KUBECONFIG=" + devtest.Kubeconfig(b.t, config)}, args...)}
	r.lines.Buffer(nil, 1<<20)
	r.lines.Split(bufio.ScanLines)
	r.address = strings.TrimPrefix(r.says("serving health on "), "serving health on ")
	return r
}

// says waits for a line with all these parts, and returns it.
func (r *replica) says(parts ...string) string {
	r.t.Helper()
	late := time.AfterFunc(longest, func() { _ = r.Process.Kill() })
	defer late.Stop()
	for r.lines.Scan() {
		line := r.lines.Text()
		r.said = append(r.said, line)
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			return line
		}
	}
	r.t.Fatalf("it never says %q, but\n%s", parts, strings.Join(r.said, "\n"))
	return ""
}
