package takeover_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Everybody who asks for the hand-back gets an answer. It is done though the journal is
// gone.
func TestManyHandBacks(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	if err := os.RemoveAll(filepath.Join(s.Config().Folder, "journal")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			// The last ones may come when it has ended.
			if err := s.HandBack(t.Context()); err != nil && !errors.Is(err, takeover.ErrNoSession) && !strings.Contains(err.Error(), "journal") {
				t.Error(err)
			}
		})
	}
	all.Wait()
	<-s.ended
	s.Whole(s.before)
}

// One of several workloads is handed back by itself.
func TestHandBackOne(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"api/main.txt": "api 2\n", "mail/main.txt": "mail 2\n"}, nil)
	if err := s.HandBack(t.Context(), "deploy/nobody"); !errors.Is(err, takeover.ErrUnknownWorkload) {
		t.Errorf("what there is not: %v", err)
	}
	if err := s.HandBack(t.Context(), "mail"); err != nil {
		t.Fatal(err)
	}
	if s.Spec("mail") != s.before["mail"] || s.Spec("api") == s.before["api"] || !slices.Equal(s.local.Names(), []string{"api"}) {
		t.Errorf("there run %v", s.local.Names())
	}
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	st := s.Session.Status()
	if len(st.Workloads) != 1 || st.Workloads[0].Workload != "Deployment "+s.Namespace+"/api" || st.Workloads[0].State != takeover.StateServing {
		t.Errorf("the status is %+v", st)
	}
	if err := s.HandBack(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	if err := s.HandBack(t.Context()); !errors.Is(err, takeover.ErrNoSession) {
		t.Errorf("of a session that has ended: %v", err)
	}
	s.Whole(s.before)
}

// A workload that could not be handed back is served on, and is not said to be handed back.
func TestHandBackOneFails(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"api/main.txt": "api 2\n", "mail/main.txt": "mail 2\n"}, nil)
	refused := s.proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile(`/deployments/mail`), Do: faultproxy.Answer(http.StatusForbidden)})
	if err := s.HandBack(t.Context(), "mail"); !errors.Is(err, divert.ErrRejected) {
		t.Errorf("handed back: %v", err)
	}
	for _, w := range s.Session.Status().Workloads {
		if w.State != takeover.StateServing {
			t.Errorf("%s is %s", w.Workload, w.State)
		}
	}
	refused.Remove()
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// A working tree that is as the receipt says again hands back by itself.
func TestHandsBackByItself(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	same := false
	s := serve(t, editAPI, func(c *takeover.Config) {
		c.Same = func(context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			was := same
			same = true
			return was, nil
		}
	})
	s.local.Changed("api") // to something else
	for asked := false; !asked; {
		mu.Lock()
		asked = same
		mu.Unlock()
	}
	s.local.Changed("api")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	if s.count(takeover.EventUnedited) != 1 || s.warned("as the receipt says") {
		t.Errorf("what was asked for is said as %v", s.types())
	}
	s.Whole(s.before)
}

// What somebody else has changed meanwhile stays, and is named.
func TestKeeps(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	patch := []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["debug"]}]`)
	if _, err := s.Client().AppsV1().Deployments(s.Namespace).Patch(t.Context(), "api", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
		t.Fatal(err)
	}
	err := s.HandBack(t.Context())
	if notBack, ok := errors.AsType[*lifecycle.NotReturnedError](err); !ok || !strings.Contains(strings.Join(notBack.Wrong, "\n"), "api drifted") {
		t.Errorf("handed back: %v", err)
	}
	events := s.all()
	i := slices.IndexFunc(events, func(e takeover.Event) bool { return e.Type == takeover.EventRestored })
	if i < 0 || !slices.Equal(events[i].Kept, []string{"/args"}) {
		t.Errorf("kept are %+v", events[max(i, 0)].Kept)
	}
	if got := s.Spec("api"); !strings.Contains(got, `"debug"`) || strings.Contains(got, "pharos-agent") {
		t.Errorf("api is %s", got)
	}
	if _, err := s.Session.Pending(); !errors.Is(err, journal.ErrNone) {
		t.Errorf("the journal is left: %v", err)
	}
}

// A session goes on though somebody has changed what it diverts, or put some of it back:
// that is diverted anew, and the other stays and is named in the end.
func TestGoesOnWithOthersChanges(t *testing.T) {
	t.Parallel()
	for args, kept := range map[string][]string{"debug": {"/args"}, "serve": nil} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			s := serve(t, editAPI, nil)
			s.cancel()
			<-s.ended
			patch := []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["` + args + `"]},{"op":"replace","path":"/spec/replicas","value":3}]`)
			if _, err := s.Client().AppsV1().Deployments(s.Namespace).Patch(t.Context(), "api", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
				t.Fatal(err)
			}
			again := begin(t, s.Config())
			again.until(takeover.EventServing, 1)
			if got := s.Spec("api"); !strings.Contains(got, `"pharos-agent`) && !strings.Contains(got, "pharos-agent@") || strings.Contains(got, `"args":["serve"]`) {
				t.Errorf("gone on with, api is %s", got)
			}
			err := again.HandBack(t.Context())
			if notBack, ok := errors.AsType[*lifecycle.NotReturnedError](err); !ok || !strings.Contains(strings.Join(notBack.Wrong, "\n"), "api drifted") {
				t.Errorf("handed back: %v", err)
			}
			events := again.all()
			i := slices.IndexFunc(events, func(e takeover.Event) bool { return e.Type == takeover.EventRestored })
			if i < 0 || !slices.Equal(events[i].Kept, kept) {
				t.Errorf("kept are %v, want %v", events[max(i, 0)].Kept, kept)
			}
			if got := s.Spec("api"); !strings.Contains(got, `"args":["`+args+`"]`) || !strings.Contains(got, `"replicas":3`) || strings.Contains(got, "pharos-agent") {
				t.Errorf("handed back, api is %s", got)
			}
		})
	}
}
