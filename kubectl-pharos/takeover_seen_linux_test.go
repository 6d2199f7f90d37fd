package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What a checkout's takeover has done is shown with its time to who comes later, and that
// nothing was printed is said; only what can be taken over is offered.
func TestTakeoverSeenLater(t *testing.T) {
	t.Parallel()
	s := hollowTakeover(t, fmt.Sprintf(`{go: {}, env: [PORT], ports: [{port: 8080, local: %d, env: PORT}]}`, freePort(t)))
	if out, code := s.run("__complete", "takeover", "deploy/"); code != exitDone || !strings.HasPrefix(out, "deploy/api\n:4\n") {
		t.Errorf("offered: exit code %d\n%s", code, out)
	}
	s.write("main.go", strings.Replace(s.program("edited"), `fmt.Println("edited", "listens")`, "", 1))
	watching := s.follow("takeover", "--timeout", "1h")
	line := watching.await(": diverted")
	if line != "Deployment "+s.ns+"/api: diverted" {
		t.Errorf("who began it is told %q", line)
	}
	if out, code := s.run("takeover", "logs"); code != exitDone || out != "nothing was printed yet\n" {
		t.Errorf("logs: exit code %d\n%s", code, out)
	}
	later := s.follow("takeover", "attach")
	at, text, _ := strings.Cut(later.await(": diverted"), " ")
	if _, err := time.Parse(time.RFC3339, at); err != nil || text != line {
		t.Errorf("who comes later is told %q of %q", at, text)
	}
	// What it has changed is no drift, and what somebody else changes is.
	status := s.awaitStatus(", 0 not healthy, 0 drifted,", exitDone)
	if !strings.Contains(status, "Takeover: by ") {
		t.Errorf("the takeover is not shown:\n%s", status)
	}
	if _, err := s.client.AppsV1().Deployments(s.ns).Patch(t.Context(), "api", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{FieldManager: "ann"}); err != nil {
		t.Fatal(err)
	}
	if status := s.awaitStatus(", 1 drifted,", exitNotSo); !strings.Contains(status, "/api drifted: ") {
		t.Errorf("what somebody else changed is not shown:\n%s", status)
	}
	if out, code := s.run("handback"); code != exitUnhealthy || !strings.Contains(out, "/api drifted: ") {
		t.Errorf("handback: exit code %d\n%s", code, out) // ann's change stays
	}
	watching.end()
	later.end()
	last := strings.Split(later.text(), "\n")
	if at, _, _ := strings.Cut(last[len(last)-1], " "); strings.HasPrefix(at, "20") {
		t.Errorf("what it saw itself is told with a time: %q", last[len(last)-1])
	}
}

// awaitStatus returns what the status says once that is in it.
func (s *takeoverTest) awaitStatus(part string, want int) string {
	s.t.Helper()
	for {
		out, code := s.run("status")
		if strings.Contains(out, part) {
			if code != want {
				s.t.Errorf("status: exit code %d, want %d\n%s", code, want, out)
			}
			return out
		}
		if s.t.Context().Err() != nil {
			s.t.Fatalf("it is never %q:\n%s", part, out)
		}
	}
}
