//go:build unix

package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// BenchmarkSave measures how long after an edit is saved a Go program answers with it,
// how much of that is above the go build that it needs, and, in turn, how long go build
// takes by itself for such an edit: the medians.
//
//	go test -run '^$' -bench Save -benchtime 20x ./lifecycle/takeover/runtime
func BenchmarkSave(b *testing.B) {
	root, port := goModule(b), freePort(b)
	other := goModule(b)
	c := config(b, root, "**")
	c.Go = &catalogue.GoBuild{Package: "./cmd/web"}
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
	c.Ports = []runtime.Port{{Container: 8080, Local: port}}
	r := start(b, c)
	_, at := r.until(0, runtime.EventReady)
	web := client(r, 8080)
	goBuild(b, other, 0)
	var saved, beside, above []time.Duration
	for i := 1; b.Loop(); i++ {
		begun := time.Now()
		write(b, root, "cmd/web/version.go", goVersion(i))
		var built runtime.Event
		built, at = r.until(at, runtime.EventBuilt) // who asks without end takes a processor from the compiler
		for get(b, web, "/") != version(i) {
		}
		took := time.Since(begun)
		_, at = r.until(at, runtime.EventReady)
		saved, above = append(saved, took), append(above, took-built.Took)
		beside = append(beside, goBuild(b, other, i))
	}
	for name, list := range map[string][]time.Duration{"save-ms": saved, "go-build-ms": beside, "above-ms": above} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, name)
	}
	events := map[runtime.EventType][]time.Duration{}
	for _, e := range r.events.all() {
		events[e.Type] = append(events[e.Type], e.Took)
	}
	for name, kind := range map[string]runtime.EventType{"built-ms": runtime.EventBuilt, "stopped-ms": runtime.EventStopped, "ready-ms": runtime.EventReady} {
		list := events[kind]
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, name)
	}
	b.ReportMetric(0, "ns/op")
}

// goBuild is what go build takes for an edit.
func goBuild(b *testing.B, root string, i int) time.Duration {
	b.Helper()
	write(b, root, "cmd/web/version.go", goVersion(1000+i))
	begun := time.Now()
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(root, "program"), "./cmd/web")
	cmd.Dir = root
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOFLAGS=") }), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v: %s", err, out)
	}
	return time.Since(begun)
}
