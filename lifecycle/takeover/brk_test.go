package takeover_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

func TestBrkOtherCluster(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	<-s.ended
	f, err := journal.OpenFile(filepath.Join(s.Config().Folder, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	doc, version, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	right := doc.Cluster
	doc.Cluster = "another"
	if version, err = f.Save(doc, version); err != nil {
		t.Fatal(err)
	}
	if err := s.finish(); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("BRK hand back at another cluster: %v", err)
	}
	after, version, err := f.Load()
	if err != nil {
		t.Fatalf("BRK the journal: %v", err)
	}
	after.Cluster = right
	if _, err = f.Save(after, version); err != nil {
		t.Fatal(err)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

func TestBrkMany(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() { _ = s.HandBack(t.Context()) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatal("BRK hand-backs never end")
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

func TestBrkDeleted(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	if err := s.Client().AppsV1().Deployments(s.Namespace).Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("BRK deleted: %v", s.HandBack(t.Context()))
	t.Logf("BRK ended %v", <-s.ended)
	_, err := s.Session.Pending()
	st, _ := s.Lifecycle().Status(t.Context())
	t.Logf("BRK pending %v held %v", err, st.Lease.Held)
	if !errors.Is(err, journal.ErrNone) || st.Lease.Held {
		t.Error("BRK left")
	}
}

func TestBrkRecreated(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	api := s.Client().AppsV1().Deployments(s.Namespace)
	d, err := api.Get(t.Context(), "api", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		_, err = api.Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace, Labels: d.Labels}, Spec: d.Spec}, metav1.CreateOptions{})
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	err = s.HandBack(t.Context())
	t.Logf("BRK recreated as the agent: %v", err)
	t.Logf("BRK ended %v", <-s.ended)
	_, err = s.Session.Pending()
	t.Logf("BRK pending %v agent left: %v", err, strings.Contains(s.Spec("api"), "pharos-agent"))
}

func TestBrkSecretGone(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	if err := s.Client().CoreV1().Secrets(s.Namespace).Delete(t.Context(), journal.ObjectName(s.Namespace), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Errorf("BRK %v", err)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("BRK %v", err)
	}
	s.Whole(s.before)
}

func TestBrkSecretGoneBeat(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	if err := s.Client().CoreV1().Secrets(s.Namespace).Delete(t.Context(), journal.ObjectName(s.Namespace), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(takeover.EventLeaseLost, 1)
	s.until(takeover.EventServing, 2)
	if _, err := s.Client().CoreV1().Secrets(s.Namespace).Get(t.Context(), journal.ObjectName(s.Namespace), metav1.GetOptions{}); err != nil {
		t.Errorf("BRK %v", err)
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Errorf("BRK %v", err)
	}
	s.Whole(s.before)
}

func TestBrkLeaseGone(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	if err := s.Client().CoordinationV1().Leases(s.Namespace).Delete(t.Context(), "pharos-"+s.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(takeover.EventLeaseLost, 1)
	s.until(takeover.EventServing, 2)
	if err := s.HandBack(t.Context()); err != nil {
		t.Errorf("BRK %v", err)
	}
	s.Whole(s.before)
}

func TestBrkEdited(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	patch := []byte(`[{"op":"replace","path":"/spec/replicas","value":3},{"op":"add","path":"/spec/template/spec/containers/0/env","value":[{"name":"A","value":"b"}]}]`)
	if _, err := s.Client().AppsV1().Deployments(s.Namespace).Patch(t.Context(), "api", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("BRK edited: %v", s.HandBack(t.Context()))
	got := s.Spec("api")
	if !strings.Contains(got, `"replicas":3`) || !strings.Contains(got, `"name":"A"`) || strings.Contains(got, "pharos-agent") {
		t.Errorf("BRK %s", got)
	}
	// set image of the diverted container
	s2 := serve(t, editAPI, nil)
	patch = []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"registry.example/other@sha256:` + strings.Repeat("a", 64) + `"}]`)
	if _, err := s2.Client().AppsV1().Deployments(s2.Namespace).Patch(t.Context(), "api", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("BRK image set: %v", s2.HandBack(t.Context()))
	t.Logf("BRK image set spec: %s", s2.Spec("api"))
}

func TestBrkJournalGone(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	if err := os.RemoveAll(s.Config().Folder); err != nil {
		t.Fatal(err)
	}
	t.Logf("BRK journal gone: %v", s.HandBack(t.Context()))
	t.Logf("BRK journal gone, ended: %v", <-s.ended)
	t.Logf("BRK whole %v", s.Spec("api") == s.before["api"])
}

// each write's answer is lost, or the write is refused once.
func TestBrkWrites(t *testing.T) {
	devtest.Cluster(t)
	for _, mode := range []string{"lost", "cut", "500", "409"} {
		for n := range 14 {
			if mode != "lost" && n%3 != 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", mode, n), func(t *testing.T) {
				t.Parallel()
				s := takeovertest.NewShop(t, devtest.Cluster(t))
				before := s.Specs()
				s.Write(editAPI)
				proxy, err := faultproxy.ForCluster(s.REST)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(proxy.Close)
				c, err := takeovertest.Config(t.Context(), s.Dir, s.Namespace, proxy.Config(s.REST), lease.Timing{})
				if err != nil {
					t.Fatal(err)
				}
				rule := faultproxy.Rule{Skip: n, Times: 1, AfterUpstream: mode == "lost", Do: faultproxy.Cut(), Match: func(r *http.Request) bool { return r.Method != http.MethodGet && !strings.Contains(r.URL.RawQuery, "dryRun") }}
				switch mode {
				case "500":
					rule.Do = faultproxy.Answer(500)
				case "409":
					rule.Do = faultproxy.Answer(409)
				}
				what := ""
				match := rule.Match
				count := 0
				rule.Match = func(r *http.Request) bool {
					ok := match(r)
					if ok {
						if count == n {
							what = r.Method + " " + r.URL.Path
						}
						count++
					}
					return ok
				}
				proxy.Add(rule)
				r := begin(t, c)
				var runErr error
				select {
				case runErr = <-r.ended:
				case <-r.served():
					if err := r.HandBack(t.Context()); err != nil {
						t.Logf("BRK %s %d (%s): hand back: %v", mode, n, what, err)
					}
					runErr = <-r.ended
				}
				if runErr != nil {
					t.Logf("BRK %s %d (%s): ended: %v", mode, n, what, runErr)
				} else {
					t.Logf("BRK %s %d (%s): fine", mode, n, what)
				}
				session, err := takeover.New(s.Config())
				if err != nil {
					t.Fatal(err)
				}
				if err := session.Finish(t.Context()); err != nil && !errors.Is(err, journal.ErrNone) {
					t.Errorf("BRK %s %d (%s): finish: %v", mode, n, what, err)
				} else if err == nil {
					t.Logf("BRK %s %d (%s): Finish was needed", mode, n, what)
				}
				s.Whole(before)
			})
		}
	}
}
