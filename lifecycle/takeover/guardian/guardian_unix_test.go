//go:build unix

package guardian_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

func TestGuardian(t *testing.T) {
	t.Parallel()
	s, r := guarded(t)
	before := s.Specs()
	if _, err := guardian.Connect(t.Context(), r.Folder); !errors.Is(err, guardian.ErrNotRunning) {
		t.Errorf("before it runs: %v", err)
	}
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	serves(t, c)

	st, err := c.Status(t.Context())
	if err != nil || st.Step != journal.Serving || st.PID != c.PID() || len(st.Workloads) != 1 || st.Workloads[0].Process == nil || st.Until.IsZero() {
		t.Errorf("the status is %+v, %v", st, err)
	}
	if _, err := r.start(t.Context()); err == nil || !strings.Contains(err.Error(), takeover.ErrRunning.Error()) {
		t.Errorf("a second guardian: %v", err)
	}
	var printed []string
	if err := c.Logs(t.Context(), false, func(l guardian.LogLine) { printed = append(printed, fmt.Sprint(l.Source, " ", len(l.Text))) }); err != nil {
		t.Error(err)
	}
	if got := strings.Join(printed, ", "); got != "api 10, mail 8192, mail 808" {
		t.Errorf("what was printed is %s", got)
	}
	if err := c.HandBack(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a workload that there is not: %v", err)
	}
	if err := c.Restart(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	for path, mode := range map[string]os.FileMode{"": 0o700, "guardian.json": 0o600, "guardian.log": 0o600, "journal/journal.json": 0o600} {
		if info, err := os.Stat(filepath.Join(r.Folder, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q is %v, %v", path, info.Mode(), err)
		}
	}

	// Everything by one connection, as an editor does it.
	requests := make(chan guardian.Request, 1)
	requests <- guardian.Request{Op: guardian.OpHandBack, ID: "7"}
	var answer, last guardian.Line
	line := definition(t, "line")
	if err := c.Attach(t.Context(), requests, func(l guardian.Line) error {
		conforms(t, line, l)
		if l.Type == guardian.LineAnswer {
			answer = l
		}
		if l.Type == guardian.LineEvent {
			last = l
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if answer.ID != "7" || answer.Error != "" || last.Event == nil || last.Event.Type != takeover.EventFinished || last.Event.Error != "" {
		t.Errorf("handed back: %+v, and last %+v", answer, last.Event)
	}
	s.Whole(before)
	if _, err := guardian.Connect(t.Context(), r.Folder); !errors.Is(err, guardian.ErrNotRunning) {
		t.Errorf("afterwards: %v", err)
	}
}

// The terminal is only an observer: with all of its process group it is killed, and the
// session goes on.
func TestTerminalKilled(t *testing.T) {
	t.Parallel()
	s, r := guarded(t)
	before := s.Specs()
	terminal := r
	terminal.Terminal = true
	cmd := killtest.Command(t, terminal)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "started\n" {
		t.Fatalf("the terminal said %q, %v", said, err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	c, err := guardian.Connect(t.Context(), r.Folder)
	if err != nil {
		t.Fatal(err)
	}
	serves(t, c)
	if err := c.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(before)
}

// What a guardian leaves that is killed, the next one goes on with.
func TestGuardianKilled(t *testing.T) {
	t.Parallel()
	s, r := guarded(t)
	before := s.Specs()
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	serves(t, c)
	if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.HandBack(t.Context()); err == nil {
		t.Error("a guardian that was killed hands back")
	}
	session, err := takeover.New(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := session.Pending(); err != nil || doc.Step != journal.Serving {
		t.Errorf("the journal has %v, %v", doc, err)
	}
	again, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	serves(t, again)
	if err := again.Stop(t.Context()); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if s.Spec("api") == before["api"] {
		t.Error("stopped, it is handed back")
	}
	if err := session.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(before)
}

// Who asks late is told why the session ended.
func TestGuardianRefused(t *testing.T) {
	t.Parallel()
	s, r := guarded(t)
	s.Write(map[string]string{"gitops/api.yaml": "changed: true\n"})
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var last takeover.Event
	if err := c.Attach(t.Context(), nil, func(l guardian.Line) error {
		if l.Event != nil {
			last = *l.Event
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if last.Type != takeover.EventFinished || last.Class != "blocked" || !strings.Contains(last.Error, "gitops/api.yaml") {
		t.Errorf("it ended with %+v", last)
	}
	if !errors.Is(&guardian.Error{Text: last.Error, Class: last.Class}, lifecycle.ErrBlocked) {
		t.Error("its class is not known")
	}
}

// What is no request is answered, and does not end the guardian. The folder's path is
// too long for a socket.
func TestGuardianHostile(t *testing.T) {
	t.Parallel()
	s, r := guarded(t)
	r.Folder = filepath.Join(t.TempDir(), strings.Repeat("long", 30), "takeover")
	before := s.Specs()
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var place struct{ Socket string }
	doc, err := os.ReadFile(filepath.Join(r.Folder, "guardian.json"))
	if err != nil || json.Unmarshal(doc, &place) != nil {
		t.Fatal(err, string(doc))
	}
	if info, err := os.Stat(filepath.Dir(place.Socket)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket is in %v, %v", info.Mode(), err)
	}
	for _, line := range []string{"{}", "nonsense", `{"version":1,"op":"shell"}`, `{"version":9,"op":"status"}`, `{"version":1,"op":"status","all":true}`, `{"version":1,"op":"status"} {}`,
		`{"version":1,"op":"status","id":"` + strings.Repeat("i", 65) + `"}`} {
		conn, err := net.DialTimeout("unix", place.Socket, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(conn, line); err != nil {
			t.Fatal(err)
		}
		var answer guardian.Line
		if err := json.NewDecoder(conn).Decode(&answer); err != nil || answer.Type != guardian.LineAnswer || answer.Error == "" {
			t.Errorf("%s is answered %+v, %v", line, answer, err)
		}
		conforms(t, definition(t, "line"), answer)
		_ = conn.Close()
	}
	conn, err := net.Dial("unix", place.Socket)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte(strings.Repeat("y", 100_000))) // it may hang up before the end
	_ = conn.Close()
	serves(t, c)
	if err := c.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(before)
}
