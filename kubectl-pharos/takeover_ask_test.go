package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// The status says of what is not served that it is not, and why; a process that does not
// run has no number; and what helps stands below.
func TestTakeoverStatusOfWhatIsNotServed(t *testing.T) {
	t.Parallel()
	st := guardian.Status{Status: takeover.Status{Target: "devbox", Workloads: []takeover.WorkloadStatus{
		{Workload: "Deployment shop/api", Container: "main", State: takeover.StateNotServed, Reason: "its process does not run: exit status 1", Process: &runtime.State{Phase: runtime.Crashed, Reason: "exit status 1"}},
		{Workload: "Deployment shop/web", Container: "main", State: takeover.StateReplaced, Reason: `"kubectl-set" has put its image back`, Process: &runtime.State{Phase: runtime.Serving, PID: 4711}},
		{Workload: "Deployment shop/mail", Container: "main", State: takeover.StateServing, Serving: true, Process: &runtime.State{Phase: runtime.Serving, PID: 4712}},
	}}}
	var out bytes.Buffer
	o := &takeoverStatusOptions{shared: &shared{IOStreams: genericiooptions.IOStreams{Out: &out}}, output: newOutput(&cobra.Command{})}
	if err := o.print(st); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "Deployment "), " "); ok {
			rows[name] = strings.Fields(rest)
		}
	}
	for name, want := range map[string]string{
		"shop/api": "main not-served crashed - exit status 1", "shop/web": `main replaced serving 4711 "kubectl-set" has put its image back`, "shop/mail": "main serving serving 4712",
		"shop/web:": takeover.AfterReplaced,
	} {
		if got := strings.Join(rows[name], " "); got != want {
			t.Errorf("%s: %q, want %q in\n%s", name, got, want, &out)
		}
	}
}
