package sweep_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// While namespaces are looked into the pass goes on, and what is in them is not ended
// before that is decided: it goes with its namespace, or by itself where that stays.
func TestPassDoesNotWaitForItsNamespaces(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{}) // it passes over all namespaces
	admin := devtest.Client(t, c.Config())
	for _, ns := range []corev1.Namespace{{ObjectMeta: transient("goes", past)}, {ObjectMeta: transient("stays", past)}, {ObjectMeta: metav1.ObjectMeta{Name: "other"}}} {
		if _, err := admin.CoreV1().Namespaces().Create(t.Context(), &ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(ns string, m metav1.ObjectMeta) {
		t.Helper()
		if _, err := admin.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: m}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, ns := range []string{"goes", "stays", "other"} {
		create(ns, transient("over", past))
		create(ns, transient("waits", later()))
		create(ns, transient("endless", nil))
	}
	create("stays", metav1.ObjectMeta{Name: "kept", Labels: map[string]string{keys.Intent: "retained"}})

	proxy, err := faultproxy.ForCluster(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	look := proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("^/api/v1/namespaces/(goes|stays)/services$"), Do: faultproxy.Stall()})
	var looking atomic.Bool
	looking.Store(true)
	var told []string
	report, err := ender(t, proxy.Config(c.Config())).Pass(t.Context(), sweep.PassOptions{
		Resources: []string{"namespaces", "configmaps", "secrets"},
		Each: func(i sweep.Item) {
			of := i.Object.Namespace + "/" + i.Object.Name
			told = append(told, fmt.Sprintf("%s %s %t", i.Outcome, of, looking.Load()))
			if of == "other/over" { // or the looks time out, and nothing of this is so
				looking.Store(false)
				look.Release()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(told[1:3])
	want := []string{"Deleted other/over true", "Deleted /goes false", "Refused /stays false", "Deleted stays/over false"}
	if !slices.Equal(told, want) {
		t.Errorf("it told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	// Two of goes go with it.
	if got, want := report.Counts, (sweep.Counts{Seen: 11, Deleted: 3, Kept: 2, Waiting: 2, Refused: 4}); got != want || len(report.Gaps) != 0 {
		t.Errorf("got %+v and %+v, want %+v", got, report.Gaps, want)
	}
	var findings []string
	for _, f := range report.Findings {
		findings = append(findings, string(f.Reason)+" "+f.Namespace+"/"+f.Name)
	}
	if want := []string{"NoEnd goes/endless", "NoEnd other/endless", "NoEnd stays/endless", "Holds /stays"}; !slices.Equal(findings, want) {
		t.Errorf("findings %q, want %q", findings, want)
	}
	if n := len(report.Resources); n != 2 || report.Resources[0].Resource != "configmaps" || report.Resources[0].Seen != 9 {
		t.Errorf("resources: %+v", report.Resources)
	}
}
