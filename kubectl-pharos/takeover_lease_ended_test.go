package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// Whose takeover's lease has ended is told in the checkout when, whether it was handed back
// since, and who has the target now: to call it interrupted would say less.
func TestLeaseEndedIsTold(t *testing.T) {
	t.Parallel()
	dir, ns, handback := leftTakenOver(t, false)
	checkedOut(t, dir, ns)
	c := devtest.Cluster(t)
	kubeconfig := devtest.Kubeconfig(t, c.Config())
	tells := func(text string, want leaseEndedFields) {
		t.Helper()
		pattern := regexp.MustCompile(`the takeover of target devbox is served no more: its lease ` + text)
		for _, command := range [][]string{{"status"}, {"takeover", "status"}} {
			if _, out, errOut := plugin(t, kubeconfig, append(command, "--repo", dir)...); !pattern.MatchString(errOut) || strings.Contains(errOut, "interrupted") {
				t.Errorf("%v: %s%s", command, out, errOut)
			}
			_, out, errOut := plugin(t, kubeconfig, append(command, "--repo", dir, "--output", "json")...)
			var answer struct {
				Interrupted leftFields
				endFields
			}
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				t.Fatalf("%v: %v: %s%s", command, err, out, errOut)
			}
			is := answer.LeaseEnded
			if command[0] == "status" {
				is = answer.Interrupted.LeaseEnded
			}
			if is == nil || (is.Time == nil) != (want.Holder != "") || is.HandedBack != want.HandedBack || is.Holder != want.Holder {
				t.Errorf("%v: %s", command, out)
			}
		}
	}
	runOut(t, ns)
	tells(`ended at 20\S+Z: session S1\n`+interruptedNext, leaseEndedFields{})
	if code, _, errOut := handback("--force", "--reason", "her laptop is gone"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	tells(`ended at 20\S+Z, and it was handed back: session S1\nGo on with it: kubectl pharos takeover\. Or clear up`, leaseEndedFields{HandedBack: true})
	m, err := lease.New(lease.Config{REST: c.Config(), Namespace: ns, Target: "devbox"})
	if err == nil {
		_, err = m.Acquire(t.Context(), lease.Request{Mode: lease.ModeBorrow, User: "bob@desk"})
	}
	if err != nil {
		t.Fatal(err)
	}
	tells(`has ended, and it was handed back, and bob@desk has the target now: session S1\nUntil when: kubectl pharos lease show\.`, leaseEndedFields{HandedBack: true, Holder: "bob@desk"})
}

// runOut has the lease of a target be renewed last an hour ago.
func runOut(t *testing.T, ns string) {
	t.Helper()
	leases := devtest.Client(t, devtest.Cluster(t).Config()).CoordinationV1().Leases(ns)
	is, err := leases.Get(t.Context(), "pharos-devbox", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := is.Spec.RenewTime.Add(-time.Hour)
	patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, before.UTC().Format(metav1.RFC3339Micro))
	if _, err := leases.Patch(t.Context(), is.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
