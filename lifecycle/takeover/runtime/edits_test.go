//go:build unix

package runtime_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// edits is how many edits of a program no request may fail.
const edits = 50

func TestGoEdits(t *testing.T) {
	t.Parallel()
	root, port := goModule(t), freePort(t)
	c := config(t, root, "**")
	c.Go = &catalogue.GoBuild{Package: "./cmd/web"}
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
	c.Ports = []runtime.Port{{Container: 8080, Local: port}}
	r := start(t, c)
	edit(t, r, edits, []string{http.MethodGet, http.MethodPost}, func(i int) { write(t, root, "cmd/web/version.go", goVersion(i)) })
	if all := r.output.all(); len(all) == 0 || all[len(all)-1] != fmt.Sprintf("serving %s\n", version(edits)) {
		t.Errorf("the output ends with %q", all[max(0, len(all)-1):])
	}
}

// A program that knows of no graceful end loses no request either.
func TestPythonEdits(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	root, port := t.TempDir(), freePort(t)
	write(t, root, "main.py", pythonVersion(0))
	p, err := runtime.Choose(root, catalogue.Image{Name: "web"}, port)
	must(t, err)
	c := config(t, root, "*.py")
	c.Command, c.Reload, c.Dir = p.Command, p.Reload, p.Dir
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
	c.Ports = []runtime.Port{{Container: 80, Local: port}}
	edit(t, start(t, c), edits, []string{http.MethodGet, http.MethodPost}, func(i int) { write(t, root, "main.py", pythonVersion(i)) })
}

// A program that starts anew by itself ends requests as it likes: those that change
// nothing are made once more.
func TestNodeReloadsItself(t *testing.T) {
	t.Parallel()
	need(t, "node")
	root, port := t.TempDir(), freePort(t)
	write(t, root, "server.js", nodeVersion(0))
	c := config(t, root, "*.js")
	c.Command, c.Reload = []string{"node", "--watch", "server.js"}, catalogue.ReloadSelf
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
	c.Ports = []runtime.Port{{Container: 80, Local: port}}
	r := start(t, c)
	edit(t, r, edits, []string{http.MethodGet}, func(i int) {
		// Node loses sight of a file that is renamed twice, and of what comes while it
		// starts: this is one write, of as many bytes.
		f, err := os.OpenFile(filepath.Join(root, "server.js"), os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString(nodeVersion(i))
		must(t, errors.Join(err, f.Close()))
	})
	if g := r.State().Generation; g != 1 {
		t.Errorf("it was started %d times", g)
	}
}

// edit edits a program while requests are made, none of which may fail.
func edit(t *testing.T, r *running, edits int, methods []string, save func(i int)) {
	t.Helper()
	r.until(0, runtime.EventReady)
	load, at := newLoad(t, r, r.port(), methods...), 0
	at = load.until(t, at, version(0))
	for i := 1; i <= edits; i++ {
		save(i)
		at = load.until(t, at, version(i))
	}
	failed := load.end()
	t.Logf("%d requests during %d edits", load.count.Load(), edits)
	if len(failed) > 0 {
		t.Errorf("%d of %d requests failed, the first with %v", len(failed), load.count.Load(), failed[0])
	}
	if load.count.Load() < int64(edits) {
		t.Errorf("%d requests were made during %d edits", load.count.Load(), edits)
	}
}

// need has the test fail where a program is missing, or be left out on a machine that
// need not have it.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		devtest.Unavailable(t, program+" is not in the PATH "+os.Getenv("PATH"))
	}
}
