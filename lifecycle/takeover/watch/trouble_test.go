package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/watch"
)

// What fails after the first Change is told, and tried again until it works; then all
// that has changed meanwhile is told.
func TestTroubleIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fail func(t *testing.T, root string, m model)
		says string
		mend func(t *testing.T, root string, m model)
	}{
		"the root goes and comes": {
			func(t *testing.T, root string, _ model) { must(t, os.Rename(root, root+".away")) },
			"no such file",
			func(t *testing.T, root string, m model) {
				write(t, root+".away", "w/a", "2")
				m["w/a"] = entry{"file", "2"}
				must(t, os.Rename(root+".away", root))
			},
		},
		"git fails": {
			func(t *testing.T, root string, _ model) {
				must(t, os.Rename(filepath.Join(root, ".git"), root+".git"))
				write(t, root, "w/.gitignore", "nothing\n")
			},
			"ask git what it ignores",
			func(t *testing.T, root string, m model) {
				write(t, root, "w/b", "1")
				m["w/b"] = entry{"file", "1"}
				m["w/.gitignore"] = entry{"file", "nothing\n"}
				must(t, os.Rename(root+".git", filepath.Join(root, ".git")))
			},
		},
		"too many files": {
			func(t *testing.T, root string, _ model) {
				for i := range 5 {
					write(t, root, fmt.Sprintf("w/more/%d", i), "x")
				}
			},
			"more than 4 files",
			func(t *testing.T, root string, m model) {
				must(t, os.RemoveAll(filepath.Join(root, "w")))
				for i := range 4 { // as many as may be, all of them others
					name := fmt.Sprintf("w/other/%d", i)
					write(t, root, name, "x")
					m[name] = entry{"file", "x"}
				}
				delete(m, "w/a")
			},
		},
	} {
		for _, polling := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/polling=%v", name, polling), func(t *testing.T) {
				t.Parallel()
				root := filepath.Join(t.TempDir(), "root")
				write(t, root, "w/a", "1")
				env := repository(t, root)
				m := model{"w/a": {"file", "1"}}
				r := start(t, watch.Config{Root: root, Files: patterns(t, "w"), Env: env, Most: 4, Polling: polling, Poll: time.Millisecond, Again: 10 * time.Millisecond}, m)
				tt.fail(t, root, m)
				for r.last.Trouble == "" {
					r.next()
				}
				if !strings.Contains(r.last.Trouble, tt.says) || len(r.last.Paths) > 0 {
					t.Errorf("the trouble is told as %+v", r.last)
				}
				tt.mend(t, root, m)
				if r.until(m); r.last.Trouble != "" {
					t.Errorf("it is as it should be, and yet %q", r.last.Trouble)
				}
				// It goes on as before.
				write(t, root, "w/other/0", "3")
				m["w/other/0"] = entry{"file", "3"}
				r.until(m)
			})
		}
	}
}
