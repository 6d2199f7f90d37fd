package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// The leader ends what is past its end and tells of it; a replica that stands by does
// neither.
func TestTheLeaderSweeps(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
	create := func(name, end string) {
		t.Helper()
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: end}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	create("over", "2020-01-02T03:04:05Z")
	create("later", "2999-01-02T03:04:05Z")
	create("misspelt", "tomorrow")

	ended := make(chan string, 10)
	config := func(name string) controller.Config {
		e, err := sweep.New(sweep.Config{REST: c.Config()})
		if err != nil {
			t.Fatal(err)
		}
		return controller.Config{Identity: name, Sweep: &controller.Sweep{Ender: e, SweeperConfig: sweep.SweeperConfig{
			Resources: []string{"configmaps", "nonsense.example.org", "\xff", "\xfe"}, Namespace: ns,
			Observed: func(i sweep.Item, _ time.Duration) { ended <- i.Object.Name + " " + string(i.Outcome) },
		}}}
	}
	first := runConfig(t, c.Config(), ns, config("first"))
	first.await("/metrics", leads)
	second := runConfig(t, c.Config(), ns, config("second"))
	if got := <-ended; got != "over Deleted" {
		t.Errorf("it ended %s", got)
	}
	for _, want := range []string{
		`pharos_sweep_ends_total{result="deleted"} 1`,
		`pharos_sweep_ends_total{result="failed"} 0`,
		`pharos_sweep_lateness_seconds_count 1`,
		`pharos_sweep_objects{class="waiting",resource="configmaps"} 1`,
		`pharos_sweep_objects{class="refused",resource="configmaps"} 1`,
		`pharos_sweep_gap{what="nonsense.example.org"} 1`,
		"pharos_sweep_gap{what=\"\ufffd\"} 1",
		`pharos_sweep_failing 0`,
		`pharos_sweep_oldest_timestamp_seconds `,
		`pharos_task_running{task="sweep"} 1`,
	} {
		first.await("/metrics", want)
	}
	second.await("/readyz", "ok")
	if _, metrics := second.get("/metrics"); strings.Contains(metrics, "pharos_sweep_objects") || !strings.Contains(metrics, `pharos_sweep_ends_total{result="deleted"} 0`) {
		t.Errorf("who stands by says %s", metrics)
	}

	first.stop()
	if _, metrics := first.get("/metrics"); strings.Contains(metrics, "pharos_sweep_objects") {
		t.Error("what has ended says what there is")
	}
	create("over-too", "2020-01-02T03:04:05Z")
	if got := <-ended; got != "over-too Deleted" {
		t.Errorf("the next leader ended %s", got)
	}
	second.await("/metrics", `pharos_sweep_objects{class="waiting",resource="configmaps"} 1`)
}

func TestConfigOfTheSweep(t *testing.T) {
	t.Parallel()
	e, err := sweep.New(sweep.Config{REST: devtest.Cluster(t).Config()})
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]controller.Config{
		"without Lease there is none": {Sweep: &controller.Sweep{Ender: e}},
		"lacks its Ender":             {Lease: &lease.Manager{}, Sweep: &controller.Sweep{}},
		"nothing is swept by default": {Lease: &lease.Manager{}, Sweep: &controller.Sweep{Ender: e}},
		`there are two tasks "sweep"`: {Lease: &lease.Manager{}, Sweep: &controller.Sweep{Ender: e, SweeperConfig: sweep.SweeperConfig{Resources: []string{"pods"}}}, Tasks: []controller.Task{newCounted().task("sweep")}},
	} {
		if _, err := controller.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
