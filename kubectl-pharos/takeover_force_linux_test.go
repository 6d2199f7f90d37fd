package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/sizetest"
)

// forced are the rights to hand back by force that package restore documents, and to look
// at a target, by which the command tells that it has come back.
func forced(target string) devtest.Rights {
	identify := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system", target}, Verbs: []string{"get"}}
	return devtest.Rights{ClusterWide: []rbacv1.PolicyRule{identify}, Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"list"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"pharos-" + target}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"pharos-" + target + ".takeover"}, Verbs: []string{"get", "patch", "delete"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}},
	}}
}

// What keeps a process from running on this machine ends a takeover with the reason,
// and everything is as it was. Somebody else hands a takeover back by force, from
// another checkout and with other rights: the first one stops at once and says who it
// was. One that was killed is put back after its silence, and its checkout cleared up.
func TestTakeoverHandedBackByOthers(t *testing.T) {
	t.Parallel()
	s := takeoverOf(t)
	own, local := hold(t), hold(t)
	s.deliver(map[string]string{
		"go.mod": "module shop.example/api\n\ngo 1.26\n", "main.go": s.program("first"), ".gitignore": ".env\n",
		"pharos.yaml":     s.catalogue(fmt.Sprintf(`{go: {}, env: [GREETING, PORT], envFile: .env, ports: [{port: 8080, local: %d, env: PORT}], forwards: [{service: "api:80", local: %d}]}`, port(own), port(local))),
		"gitops/api.yaml": apiManifest,
	})
	before := s.spec()
	refused := func(want int, parts ...string) {
		t.Helper()
		out, code := s.run("takeover", "--timeout", "10m")
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("%q is not in\n%s", part, out)
			}
		}
		if code != want {
			t.Errorf("exit %d, want %d\n%s", code, want, out)
		}
		if s.spec() != before {
			t.Errorf("the spec is not as it was")
		}
	}
	s.write("main.go", s.program("edited"))
	s.write(".env", "# mine\nFEATURE=on\nPASSWORD='hunter2\n")
	refused(exitSource, ".env:3: PASSWORD: has no closing quote")
	if out, code := s.run("takeover", "--dry-run"); code != exitSource || !strings.Contains(out, ".env:3: ") || strings.Contains(out, "hunter2") {
		t.Errorf("a dry run: exit %d\n%s", code, out)
	}
	s.write(".env", "FEATURE=on\n")
	if out, code := s.run("takeover", "--dry-run"); code != 0 || !strings.Contains(out, "FEATURE, from .env") {
		t.Errorf("a dry run: exit %d\n%s", code, out)
	}
	me := fmt.Sprintf("(process %d)", os.Getpid())
	refused(exitUsage, fmt.Sprintf("forward %s/api:80: listen on loopback port %d: the port is in use by ", s.ns, port(local)), me)
	local.Close()
	refused(exitUsage, fmt.Sprintf("port %d of the loopback interface is in use by ", port(own)), me)
	own.Close()

	watching := s.follow("takeover", "--timeout", "10m")
	watching.await(": api:80 is at 127.0.0.1:" + fmt.Sprint(port(local)))
	watching.await("serving. ")
	other, user, name := s.another()
	audit := devtest.RecordAudit(t, s.cluster)
	out, code := runs(t, other, user, "handback", "--force", "--reason", "ann's laptop is gone")
	done := time.Now()
	if code != 0 || !strings.Contains(out, "Deployment "+s.ns+"/api: restored") {
		t.Fatalf("handback --force: exit %d\n%s", code, out)
	}
	code = watching.end()
	if late := time.Since(done); late > 5*time.Second {
		t.Errorf("the first session ended %s after it was handed back", late)
	}
	if text := watching.text(); code != exitBlocked || !strings.Contains(text, "ann's laptop is gone") || !strings.Contains(text, actor()) {
		t.Errorf("the first session: exit %d\n%s", code, text)
	}
	if s.spec() != before {
		t.Errorf("the spec is not as it was: %s", s.spec())
	}
	for _, e := range audit.Events(t, devtest.ByUser(name)) {
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
	}
	if wrote := audit.Events(t, func(e devenv.AuditEvent) bool {
		return e.User == name && e.Resource == "deployments" && e.Verb == "patch"
	}); len(wrote) == 0 {
		t.Errorf("%s has put nothing back", name)
	}
	s.cleared(before)

	if out, code := s.run("takeover", "--detach", "--silence", leastSilence.String(), "--timeout", "10m"); code != 0 {
		t.Fatalf("takeover --silence: exit %d\n%s", code, out)
	}
	st := s.status()
	s.killGuardian()
	if sizetest.Full() {
		// The whole silence, of which the lease sees no end.
		for s.spec() != before {
			if time.Now().After(st.Until) {
				t.Fatal("the controller waits for the end of the lease")
			}
		}
	}
	s.cleared(before)
}

// cleared hands back what is left in the checkout, and wants all to be as it was.
func (s *takeoverTest) cleared(before string) {
	s.t.Helper()
	if out, code := s.run("handback", "--timeout", "10m"); code != 0 {
		s.t.Errorf("handback: exit %d\n%s", code, out)
	}
	if out, code := s.run("takeover", "status"); code != exitNotSo {
		s.t.Errorf("takeover status afterwards: exit %d\n%s", code, out)
	}
	for out, code := s.run("status"); code != 0; out, code = s.run("status") { // the pods are replaced still
		if s.t.Context().Err() != nil {
			s.t.Fatalf("status afterwards: exit %d\n%s", code, out)
		}
	}
	if got := s.get(); got != "first hello" || s.spec() != before {
		s.t.Errorf("it answers %q, and its spec is %s", got, s.spec())
	}
}

// another is a checkout of the same repository elsewhere, and a user who may hand back
// by force and nothing else.
func (s *takeoverTest) another() (dir string, env []string, name string) {
	s.t.Helper()
	dir = s.t.TempDir()
	if out, err := exec.Command("git", "clone", "-q", s.dir, dir).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	config, name := devtest.User(s.t, s.cluster, s.ns, forced(s.ns))
	return dir, kubeconfigOf(s.t, config), name
}

// hold has a port of this machine in use.
func hold(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
