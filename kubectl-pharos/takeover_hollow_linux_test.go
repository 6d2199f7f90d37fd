package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// hollowTakeover is a checkout of a service that was delivered where no container runs: a
// takeover of it gets as far as that its process runs, and is never served. The process
// runs as run says.
func hollowTakeover(t *testing.T, run string) *takeoverTest {
	t.Helper()
	s := takeoverIn(t, devtest.Cluster(t))
	s.push = devtest.Registry(t)
	s.pull = s.push
	s.deliver(map[string]string{
		"go.mod": "module shop.example/api\n\ngo 1.26\n", "main.go": s.program("first"),
		"pharos.yaml": s.catalogue(run), "gitops/api.yaml": apiManifest,
	})
	return s
}

// A port of this machine that a forward asks for and that another process has is a wrong
// usage, of which the text says what was to be done with it and which process to end.
// Nothing on the target is changed by then.
func TestTakeoverForwardPortInUse(t *testing.T) {
	t.Parallel()
	taken := hold(t)
	s := hollowTakeover(t, fmt.Sprintf(`{go: {}, env: [PORT], ports: [{port: 8080, local: %d, env: PORT}], forwards: [{service: "api:80", local: %d}]}`, freePort(t), port(taken)))
	before := s.spec()
	s.write("main.go", s.program("edited"))
	out, code := s.run("takeover")
	want := []string{fmt.Sprintf("forward %s/api:80: listen on loopback port %d: the port is in use by ", s.ns, port(taken)),
		fmt.Sprintf("(process %d): end it, or forward to another port", os.Getpid())}
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Errorf("it lacks %q:\n%s", text, out)
		}
	}
	if code != exitUsage {
		t.Errorf("exit code %d, want %d\n%s", code, exitUsage, out)
	}
	if after := s.spec(); after != before {
		t.Errorf("the spec was\n%s\nand is\n%s", before, after)
	}
	if out, code := s.run("takeover", "status"); code != exitNotSo || strings.Contains(out, "interrupted") {
		t.Errorf("afterwards: exit code %d\n%s", code, out)
	}
}

// Who starts a takeover's processes anew in a program is told of which session and which
// workloads, and what went wrong; and they are new ones.
func TestTakeoverRestartForPrograms(t *testing.T) {
	t.Parallel()
	s := hollowTakeover(t, fmt.Sprintf(`{go: {}, env: [PORT], ports: [{port: 8080, local: %d, env: PORT}]}`, freePort(t)))
	s.write("main.go", s.program("edited"))
	for _, args := range [][]string{{"takeover", "nobody", "--dry-run"}, {"takeover", "nobody"}} {
		if out, code := s.run(args...); code != exitUsage || !strings.Contains(out, "there are deploy/api") {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
	watching := s.follow("takeover", "--timeout", "1h")
	watching.await("edited listens")
	before := s.status()
	for _, names := range [][]string{nil, {"api"}} {
		was := s.status()
		got := s.restart(exitDone, names...)
		want := restarted{Kind: "TakeoverRestart", Session: before.Session, Workloads: []string{"Deployment " + s.ns + "/api"}}
		want.Metadata.Name = s.ns
		if got.Kind != want.Kind || got.Metadata != want.Metadata || got.Session == "" || got.Session != want.Session || !slices.Equal(got.Workloads, want.Workloads) || got.failure != (failure{}) {
			t.Errorf("%v: it prints %+v, want %+v", names, got, want)
		}
		// When it is answered the new process runs.
		if now, then := s.status().Workloads[0].Process, was.Workloads[0].Process; now.PID == 0 || now.PID == then.PID || now.Generation <= then.Generation {
			t.Errorf("%v: it was %+v, and is %+v", names, then, now)
		}
	}
	if out, code := s.run("takeover", "restart", "deploy/api"); code != exitDone || out != "Deployment "+s.ns+"/api: started anew\n" {
		t.Errorf("for people: exit code %d\n%s", code, out)
	}
	// What cannot be built is the answer, also for people; what ran before goes on.
	was := s.status().Workloads[0].Process.PID
	s.write("main.go", "package main\n\nvar version = other\n")
	if got := s.restart(exitSource, "api"); got.ExitCode != exitSource || !strings.Contains(got.Error, "main.go:3:15: undefined: other") {
		t.Errorf("of what cannot be built it prints %+v", got)
	}
	if out, code := s.run("takeover", "restart"); code != exitSource || strings.Contains(out, "started anew") || !strings.Contains(out, "main.go:3:15: undefined: other") {
		t.Errorf("what cannot be built: exit code %d\n%s", code, out)
	}
	if now := s.status().Workloads[0].Process; now.PID != was {
		t.Errorf("process %d ran, and it is %+v", was, now)
	}
	if got := s.restart(exitUsage, "nobody"); got.Session != before.Session || got.Reason == "" || got.ExitCode != exitUsage || !strings.Contains(got.Error, `"nobody"`) {
		t.Errorf("of what there is not it prints %+v", got)
	}
	if out, code := s.run("handback", "nobody"); code != exitUsage || !strings.Contains(out, `"nobody"; it has `+s.ns+"/api") {
		t.Errorf("handback of what there is not: exit code %d\n%s", code, out)
	}
	// Who names all there is hands all of it back, and is told so.
	cmd := exec.CommandContext(t.Context(), program, "handback", "api", "--output", "json")
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	out, err := cmd.Output()
	var answer handbackAnswer
	if err := errors.Join(err, json.Unmarshal(out, &answer)); err != nil || !answer.HandedBack || len(answer.Workloads) != 1 || answer.Workloads[0].Workload != "Deployment "+s.ns+"/api" {
		t.Errorf("handback: %v\n%s", err, out)
	}
	watching.end()
}

// restarted is what a restart prints for programs.
type restarted struct {
	Kind      string
	Metadata  struct{ Name string }
	Session   string
	Workloads []string
	failure
}

// restart starts processes anew, and reads what that prints.
func (s *takeoverTest) restart(want int, names ...string) (r restarted) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), program, append([]string{"takeover", "restart", "--output", "json"}, names...)...)
	var errOut strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, append(os.Environ(), s.env...), &errOut
	out, _ := cmd.Output()
	if err := json.Unmarshal(out, &r); err != nil || cmd.ProcessState.ExitCode() != want {
		s.t.Fatalf("restart %v: %v, %v, want exit code %d\n%s%s", names, err, cmd.ProcessState, want, out, errOut.String())
	}
	return r
}
