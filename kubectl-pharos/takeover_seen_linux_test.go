package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
	if out, code := s.run("handback"); code != exitDone {
		t.Errorf("handback: exit code %d\n%s", code, out)
	}
	watching.end()
	later.end()
	last := strings.Split(later.text(), "\n")
	if at, _, _ := strings.Cut(last[len(last)-1], " "); strings.HasPrefix(at, "20") {
		t.Errorf("what it saw itself is told with a time: %q", last[len(last)-1])
	}
}
