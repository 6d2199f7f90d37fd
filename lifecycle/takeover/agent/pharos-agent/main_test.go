package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// document writes a session whose stream is on a port that is free now.
func document(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	doc, err := wire.Session{
		Version: wire.Version, ID: "s1",
		Key:      "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
		Control:  uint16(l.Addr().(*net.TCPAddr).Port),
		Workload: "Deployment shop/api", Holder: "ann@laptop",
		Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Away: wire.DefaultAway,
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "session.json")
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// served waits for the log to say that the agent serves.
type served chan struct{}

func (s served) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "the agent serves") {
		close(s)
	}
	return len(p), nil
}

func TestSubcommands(t *testing.T) {
	t.Parallel()
	path := document(t)
	if err := run(t.Context(), []string{wire.CommandProbe}, path, t.Output()); err == nil {
		t.Error("the probe succeeds while no agent runs")
	}
	for _, args := range [][]string{nil, {wire.CommandRun}, {"--port=8080", "serve"}} {
		ctx, terminate := context.WithCancel(t.Context())
		log, ended := make(served), make(chan error, 1)
		go func() { ended <- run(ctx, args, path, log) }()
		select {
		case <-log:
		case err := <-ended:
			t.Fatalf("%q: %v", args, err)
		}
		if err := run(t.Context(), []string{wire.CommandProbe, "/bin/check"}, path, t.Output()); err != nil {
			t.Errorf("the probe fails while an agent runs: %v", err)
		}
		terminate()
		if err := <-ended; err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := run(t.Context(), []string{wire.CommandHook, "sh", "-c", "exit 1"}, "nowhere", t.Output()); err != nil {
		t.Errorf("a hook does something: %v", err)
	}
}

func TestSessionThatIsNone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "session.json")
	if err := run(t.Context(), nil, path, t.Output()); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), nil, path, t.Output()); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.max")
	if got := limit(path); got != memoryLimit {
		t.Errorf("without a file %d", got)
	}
	for content, want := range map[string]int64{
		"max\n": memoryLimit, "33554432\n": 24 << 20, "1073741824\n": memoryLimit, "many": memoryLimit,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := limit(path); got != want {
			t.Errorf("%q: %d, want %d", content, got, want)
		}
	}
}
