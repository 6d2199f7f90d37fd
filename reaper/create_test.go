package reaper_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

func tier(name string, objects int64) reaper.Tier {
	return reaper.Tier{Name: name, MaxTTL: 24 * time.Hour, MaxObjects: objects, CPU: reaper.Unlimited, Memory: reaper.Unlimited, CreatesPerHour: reaper.Unlimited}
}

var anHour = reaper.Intent{Kind: reaper.Transient, TTL: time.Hour, Owner: "ann@example.org"}

// creation is of a ConfigMap within a tier whose ledger is in the same namespace.
func (b bench) creation(name string, tier reaper.Tier) reaper.Creation {
	return reaper.Creation{
		Ref:    reaper.Ref{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespace: b.namespace},
		Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"n": "1"}},
		Intent: anHour, Tier: tier, Ledger: b.namespace,
	}
}

// there are the objects of a tier.
func (b bench) there(t *testing.T, tier string) []corev1.ConfigMap {
	t.Helper()
	l, err := b.kube.CoreV1().ConfigMaps(b.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: keys.Tier + "=" + tier})
	if err != nil {
		t.Fatal(err)
	}
	return l.Items
}

type ledger struct {
	Entries []struct {
		ID    string
		There bool
		CPU   int64
	}
	Creates []struct{ At, N int64 }
}

func (b bench) ledger(t *testing.T, tier string) (l ledger) {
	t.Helper()
	m := b.get(t, "pharos-tier-"+tier)
	if err := json.Unmarshal([]byte(m.Data["ledger.json"]), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// later is a configuration whose server is that much ahead.
func later(config *rest.Config, by time.Duration) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				date, perr := http.ParseTime(resp.Header.Get("Date"))
				if perr != nil {
					return nil, perr
				}
				resp.Header.Set("Date", date.Add(by).UTC().Format(http.TimeFormat))
			}
			return resp, err
		})
	})
	return config
}

func TestCreate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.creation("settings", tier("small", 2))
	n.Object.(*corev1.ConfigMap).Annotations = marks{"note": "kept", keys.ExpiresAt: "2030-01-01T00:00:00Z", keys.OnExpiry: "x"}
	n.Intent.Grace = 10 * time.Minute
	o, err := client(t, b.config).Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	m := b.get(t, "settings")
	if o.UID != string(m.UID) || m.Data["n"] != "1" || m.Labels[keys.Intent] != "transient" || m.Labels[keys.Tier] != "small" ||
		m.Annotations["note"] != "kept" || m.Annotations[keys.TTL] != "1h" || m.Annotations[keys.Grace] != "10m" || m.Annotations[keys.Owner] != "ann@example.org" ||
		m.Annotations[keys.ExpiresAt] != "" || m.Annotations[keys.OnExpiry] != "" {
		t.Errorf("it is %+v", m)
	}
	if d := (reaper.Rules{}).Decide(o, m.CreationTimestamp.Add(70*time.Minute)); d.Verdict != reaper.Delete {
		t.Errorf("after its time it is decided %+v", d)
	}
	if l := b.ledger(t, "small"); len(l.Entries) != 1 || !l.Entries[0].There {
		t.Errorf("the ledger is %+v", l)
	}
	if len(n.Object.(*corev1.ConfigMap).Labels) != 0 {
		t.Error("what was given was changed")
	}
	// The ledger is nobody's to end.
	ledger := b.get(t, "pharos-tier-small")
	if reaper.Outlives(reaper.ObjectOf("", "ConfigMap", ledger)) == "" {
		t.Errorf("the ledger %+v does not outlive its namespace", ledger.ObjectMeta)
	}
}

// An intent that is longer than the tier allows, or that would never end, is refused
// before anything is written.
func TestCreateRefusesIntents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := reaper.Intent{Kind: reaper.Transient, TTL: time.Hour, Owner: "ann@example.org"}
	for name, tc := range map[string]struct {
		change func(*reaper.Intent)
		denied bool // by the tier, and else the intent is none
	}{
		"a long TTL":   {func(i *reaper.Intent) { i.TTL = 25 * time.Hour }, true},
		"a far expiry": {func(i *reaper.Intent) { i.ExpiresAt = time.Now().Add(25 * time.Hour) }, true},
		"a far expiry with grace": {func(i *reaper.Intent) {
			i.ExpiresAt, i.Grace = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), time.Second
		}, true},
		"a huge grace": {func(i *reaper.Intent) { i.Grace = time.Duration(math.MaxInt64/int64Second) * time.Second }, false},
		"a huge TTL": {func(i *reaper.Intent) {
			i.TTL, i.Grace = time.Duration(math.MaxInt64/int64Second)*time.Second, time.Hour
		}, false},
		"an expiry of 1970":    {func(i *reaper.Intent) { i.ExpiresAt = time.Unix(0, 0) }, false},
		"an expiry of 9999":    {func(i *reaper.Intent) { i.ExpiresAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }, false},
		"active in the future": {func(i *reaper.Intent) { i.LastActive = time.Now().Add(time.Hour) }, false},
	} {
		n := b.creation("never", tier("strict", 2))
		n.Intent = base
		n.Tier.MaxTTL = 24 * time.Hour
		tc.change(&n.Intent)
		_, err := client(t, b.config).Create(t.Context(), n)
		var denied *reaper.DeniedError
		if errors.As(err, &denied) != tc.denied || errors.Is(err, reaper.ErrIntent) == tc.denied {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := b.kube.CoreV1().ConfigMaps(b.namespace).List(t.Context(), metav1.ListOptions{}); err != nil || slices.ContainsFunc(list.Items, func(m corev1.ConfigMap) bool { return m.Name != "kube-root-ca.crt" }) {
		t.Errorf("there is %+v, %v", list.Items, err)
	}
}

const int64Second = int64(time.Second)

// However many create at once, no limit is exceeded, and none is left unused.
func TestCreateRace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const creators, room = 20, 7
	limits := tier("race", creators)
	limits.CPU = room * 250
	var wait sync.WaitGroup
	errs := make([]error, creators)
	for i := range creators {
		c := client(t, b.config)
		n := b.creation(fmt.Sprintf("pod-%d", i), limits)
		n.Ref.Resource, n.Ref.Kind = "pods", "Pod"
		n.Object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i)}, Spec: corev1.PodSpec{
			NodeSelector: marks{"example.org/none": "x"}, // it is never scheduled
			Containers:   []corev1.Container{{Name: "c", Image: "example.org/x", Resources: corev1.ResourceRequirements{Requests: quantities("250m", "")}}},
		}}
		wait.Go(func() { _, errs[i] = c.Create(t.Context(), n) })
	}
	wait.Wait()
	created := 0
	for i, err := range errs {
		var denied *reaper.DeniedError
		switch {
		case err == nil:
			created++
		case !errors.As(err, &denied):
			t.Errorf("creator %d: %v", i, err)
		case denied.Denials[0].Limit != reaper.LimitCPU || denied.Denials[0].Used != room*250 || denied.Denials[0].Asked != 250:
			t.Errorf("creator %d: %+v", i, denied)
		}
	}
	pods, err := b.kube.CoreV1().Pods(b.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created != room || len(pods.Items) != room || len(b.ledger(t, "race").Entries) != room {
		t.Errorf("%d were created, %d are there, and %d in the ledger, want %d", created, len(pods.Items), len(b.ledger(t, "race").Entries), room)
	}
}

// What is gone makes room at once; until then it is said when there is.
func TestCreateMakesRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, limits := client(t, b.config), tier("room", 2)
	long := b.creation("long", limits)
	long.Intent.TTL = 5 * time.Hour
	for _, n := range []reaper.Creation{long, b.creation("short", limits)} {
		if _, err := c.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.Create(t.Context(), b.creation("third", limits))
	var denied *reaper.DeniedError
	if !errors.As(err, &denied) || !errors.Is(err, reaper.ErrDenied) || len(denied.Denials) != 1 {
		t.Fatalf("error %v", err)
	}
	if d := denied.Denials[0]; d.Limit != reaper.LimitObjects || d.Max != 2 || d.Used != 2 || d.Asked != 1 {
		t.Errorf("denied %+v", d)
	}
	about(t, reaper.FormatTime(denied.Room()), time.Now().Add(time.Hour))
	b.delete(t, "long")
	if _, err := c.Create(t.Context(), b.creation("third", limits)); err != nil {
		t.Error(err)
	}
	if l := b.ledger(t, "room"); len(l.Entries) != 2 || len(b.there(t, "room")) != 2 {
		t.Errorf("the ledger is %+v", l)
	}
}

// A process that is killed, before or after any of its requests, takes no room for
// good, and no more than was there is admitted.
func TestCreateKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	// What a Create asks for: the time, and then of the ledger and the object.
	whole, counter := devtest.Count(b.config)
	if _, err := client(t, whole).Create(t.Context(), b.creation("whole", tier("whole", 1))); err != nil {
		t.Fatal(err)
	}
	requests := len(counter.Requests())
	if requests < 7 {
		t.Fatalf("only the requests %v", counter.Requests())
	}
	for at := range requests {
		for _, sent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%v", at, sent), func(t *testing.T) {
				t.Parallel()
				name := fmt.Sprintf("killed-%d-%v", at, sent)
				limits := tier(name, 3)
				if _, err := client(t, b.config).Create(t.Context(), b.creation(name+"-first", limits)); err != nil {
					t.Fatal(err)
				}
				ctx, kill := context.WithCancel(t.Context())
				defer kill()
				if _, err := client(t, killed(b.config, at, sent, kill)).Create(ctx, b.creation(name+"-x", limits)); err == nil && at < requests-3 {
					t.Fatal("it was not killed")
				}
				// Others find no more room than there is, at once and later.
				for run, config := range []*rest.Config{b.config, later(b.config, 3*time.Minute)} {
					for i := range 4 {
						_, err := client(t, config).Create(t.Context(), b.creation(fmt.Sprintf("%s-%d-%d", name, run, i), limits))
						if err != nil && !errors.Is(err, reaper.ErrDenied) {
							t.Fatal(err)
						}
					}
					if n := len(b.there(t, name)); n > 3 {
						t.Fatalf("%d are there", n)
					}
				}
				l := b.ledger(t, name)
				if n := len(b.there(t, name)); n != 3 || len(l.Entries) != 3 {
					t.Errorf("%d are there, and the ledger is %+v, want 3", n, l)
				}
			})
		}
	}
}

// killed fails the request number n and all after it: before it goes out, or when it
// was answered.
func killed(config *rest.Config, n int, sent bool, kill func()) *rest.Config {
	config = rest.CopyConfig(config)
	var mu sync.Mutex
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if n--; n >= 0 {
				return next.RoundTrip(r)
			}
			if n == -1 && sent {
				resp, err := next.RoundTrip(r)
				if err != nil {
					return nil, err
				}
				resp.Body.Close()
			}
			kill()
			return nil, errors.New("killed")
		})
	})
	return config
}

// An answer that is lost, or a server that is in trouble for a moment, neither counts
// anything twice nor keeps it from being created.
func TestCreateThroughFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for at := range 7 { // the time, the ledger twice, the namespace, the object, the ledger twice
		for _, sent := range []bool{false, true} {
			name := fmt.Sprintf("faults-%d-%v", at, sent)
			limits := tier(name, 3)
			limits.CreatesPerHour = 10
			if _, err := client(t, b.config).Create(t.Context(), b.creation(name+"-first", limits)); err != nil {
				t.Fatal(err)
			}
			_, err := client(t, faulty(b.config, at, sent)).Create(t.Context(), b.creation(name+"-x", limits))
			if post := at == 4; (err != nil) != post {
				t.Errorf("%s: %v", name, err)
			}
			l := b.ledger(t, name)
			var creates int64
			for _, m := range l.Creates {
				creates += m.N
			}
			if len(l.Entries) != 2 || creates != 2 {
				t.Errorf("%s: the ledger is %+v", name, l)
			}
		}
	}
}

// faulty loses one request, or its answer.
func faulty(config *rest.Config, n int, sent bool) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if n--; n != -1 {
				return next.RoundTrip(r)
			}
			if sent {
				resp, err := next.RoundTrip(r)
				if err != nil {
					return nil, err
				}
				resp.Body.Close()
			}
			return nil, errors.New("connection lost")
		})
	})
	return config
}

func TestCreatesPerHour(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	limits := tier("hourly", 10)
	limits.CreatesPerHour = 3
	create := func(after time.Duration) error {
		_, err := client(t, later(b.config, after)).Create(t.Context(), b.creation("one", limits))
		if err == nil {
			b.delete(t, "one")
		}
		return err
	}
	start := time.Now()
	if err := create(0); err != nil {
		t.Fatal(err)
	}
	first := time.Now()
	for _, after := range []time.Duration{20 * time.Minute, 40 * time.Minute} {
		if err := create(after); err != nil {
			t.Fatal(err)
		}
	}
	err := create(41 * time.Minute)
	var denied *reaper.DeniedError
	if !errors.As(err, &denied) || len(denied.Denials) != 1 || denied.Denials[0].Limit != reaper.LimitCreates || denied.Denials[0].Used != 3 {
		t.Fatalf("error %v", err)
	}
	// A minute counts as long as any of it is within the hour, and a Date has whole
	// seconds.
	if room := denied.Room(); room.Before(start.Add(time.Hour-time.Second)) || room.After(first.Add(61*time.Minute)) {
		t.Errorf("between %s and %s something was created, and there is room at %s", start, first, room)
	}
	if err := create(70 * time.Minute); err != nil {
		t.Errorf("when the first is over: %v", err)
	}
	if err := create(71 * time.Minute); !errors.Is(err, reaper.ErrDenied) {
		t.Errorf("when only the first is over, and another one came: %v", err)
	}
}

// What the server refuses takes no room.
func TestCreateRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, "taken", nil, nil)
	limits := tier("refused", 1)
	limits.CreatesPerHour = 1
	c := client(t, b.config)
	for range 3 {
		if _, err := c.Create(t.Context(), b.creation("taken", limits)); !apierrors.IsAlreadyExists(err) {
			t.Fatalf("error %v", err)
		}
	}
	if l := b.ledger(t, "refused"); len(l.Entries) != 0 || len(l.Creates) != 0 {
		t.Errorf("the ledger is %+v", l)
	}
	if _, err := c.Create(t.Context(), b.creation("free", limits)); err != nil {
		t.Error(err)
	}
}

func TestCreateChecks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := client(t, b.config)
	for name, tc := range map[string]struct {
		change func(*reaper.Creation)
		want   error
	}{
		"retained":    {func(n *reaper.Creation) { n.Intent.Kind = reaper.Retained }, reaper.ErrIntent},
		"no owner":    {func(n *reaper.Creation) { n.Intent.Owner = "" }, reaper.ErrIntent},
		"no end":      {func(n *reaper.Creation) { n.Intent.TTL = 0 }, reaper.ErrIntent},
		"negative":    {func(n *reaper.Creation) { n.Intent.TTL = -time.Hour }, reaper.ErrIntent},
		"too long":    {func(n *reaper.Creation) { n.Intent.TTL = 25 * time.Hour }, reaper.ErrDenied},
		"with grace":  {func(n *reaper.Creation) { n.Intent.TTL, n.Intent.Grace = 24*time.Hour, time.Second }, reaper.ErrDenied},
		"too late":    {func(n *reaper.Creation) { n.Intent.TTL, n.Intent.ExpiresAt = 0, time.Now().Add(25*time.Hour) }, reaper.ErrDenied},
		"zero tier":   {func(n *reaper.Creation) { n.Tier = reaper.Tier{Name: "zero"} }, reaper.ErrDenied},
		"no tier":     {func(n *reaper.Creation) { n.Tier = reaper.Tier{} }, reaper.ErrTier},
		"wide tier":   {func(n *reaper.Creation) { n.Tier.MaxObjects = reaper.Unlimited }, reaper.ErrTier},
		"lower tier":  {func(n *reaper.Creation) { n.Tier.CPU = -2 }, reaper.ErrTier},
		"long tier":   {func(n *reaper.Creation) { n.Tier.MaxTTL = reaper.MaxDuration + time.Second }, reaper.ErrTier},
		"tier's name": {func(n *reaper.Creation) { n.Tier.Name = "A/b" }, reaper.ErrTier},
	} {
		n := b.creation("never", tier("checks", 1))
		tc.change(&n)
		_, err := c.Create(t.Context(), n)
		var e *reaper.Error
		if !errors.Is(err, tc.want) || !errors.As(err, &e) || e.Op != "create" {
			t.Errorf("%s: error %v, want %v", name, err, tc.want)
		}
	}
	for _, object := range []any{nil, "text", []int{1}, func() {}} {
		n := b.creation("never", tier("checks", 1))
		n.Object = object
		if _, err := c.Create(t.Context(), n); err == nil {
			t.Errorf("%T was created", object)
		}
	}
	maps, err := b.kube.CoreV1().ConfigMaps(b.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: keys.TierLedger})
	if err != nil || len(maps.Items) != 0 || len(b.there(t, "checks")) != 0 {
		t.Errorf("there are %d ledgers, error %v", len(maps.Items), err)
	}
}
