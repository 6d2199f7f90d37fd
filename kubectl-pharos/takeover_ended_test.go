package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// checkedOut has a checkout be that of the takeover of a target, whose process is gone.
func checkedOut(t *testing.T, dir, ns string) {
	t.Helper()
	store, err := journal.NewStore(journal.StoreConfig{REST: devtest.Cluster(t).Config(), Namespace: ns, Target: "devbox"})
	if err != nil {
		t.Fatal(err)
	}
	session, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file, err := journal.OpenFile(filepath.Join(dir, ".git", "pharos", "takeover", "journal"))
	if err == nil {
		_, err = file.Save(session.Document, "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whose takeover somebody else has handed back is told so in the checkout, by whom, when,
// why, and what is left to do.
func TestTakenBackIsTold(t *testing.T) {
	t.Parallel()
	dir, ns, handback := leftTakenOver(t, false)
	checkedOut(t, dir, ns)
	kubeconfig := devtest.Kubeconfig(t, devtest.Cluster(t).Config())
	commands := [][]string{{"status"}, {"takeover", "status"}}
	// A dry run says the same, since a takeover would do nothing of what it would say else.
	dryRun := []string{"takeover", "--dry-run", "--repo", dir}
	if code, out, errOut := plugin(t, kubeconfig, dryRun...); code != exitBlocked || out != "" || !strings.Contains(errOut, "was interrupted here: session S1\n"+interruptedNext) {
		t.Errorf("a dry run before: exit code %d: %s%s", code, out, errOut)
	}
	for _, command := range commands {
		if code, out, errOut := plugin(t, kubeconfig, append(command, "--repo", dir)...); code != exitNotSo || !strings.Contains(errOut, "was interrupted here: session S1\n"+interruptedNext) {
			t.Errorf("%v before: exit code %d: %s%s", command, code, out, errOut)
		}
	}
	if code, _, errOut := handback("--force", "--reason", "her laptop is gone"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	want := regexp.MustCompile(`takeover of target devbox is over: \S+@\S+ took the target back at 20\S+Z: her laptop is gone\nClear up what is left of it in this checkout: kubectl pharos handback\.`)
	if code, out, errOut := plugin(t, kubeconfig, dryRun...); code != exitBlocked || out != "" || !want.MatchString(errOut) {
		t.Errorf("a dry run: exit code %d: %s%s", code, out, errOut)
	}
	for i, command := range commands {
		if code, out, errOut := plugin(t, kubeconfig, append(command, "--repo", dir)...); code != exitNotSo || !want.MatchString(errOut) || strings.Contains(errOut, "interrupted") {
			t.Errorf("%v: exit code %d: %s%s", command, code, out, errOut)
		}
		_, out, errOut := plugin(t, kubeconfig, append(command, "--repo", dir, "--output", "json")...)
		var answer struct {
			Interrupted leftFields
			TakenBack   takenBackFields
		}
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v: %v: %s%s", command, err, out, errOut)
		}
		is := answer.TakenBack
		if i == 0 && answer.Interrupted.TakenBack != nil {
			is = *answer.Interrupted.TakenBack
		}
		if is.By == "" || is.Time.IsZero() || is.Reason != "her laptop is gone" {
			t.Errorf("%v: %s", command, out)
		}
	}
}

// What a dry run says for programs is all that it says, and for people times are as
// everywhere.
func TestHandBackDryRunWhileHeld(t *testing.T) {
	t.Parallel()
	_, _, handback := leftTakenOver(t, false)
	_, out, _ := handback("--force", "--dry-run")
	if want := regexp.MustCompile(`(?m)^the lease of target devbox, which ann@desk has until 20..-..-..T..:..:..Z, would be taken away from them$`); !want.MatchString(out) {
		t.Errorf("it says %s", out)
	}
	code, out, errOut := handback("--force", "--dry-run", "--output", "json")
	if code != exitDone || errOut != "" || !json.Valid([]byte(out)) {
		t.Errorf("exit code %d, and it says %q beside %s", code, errOut, out)
	}
}
