package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// looked is a look at noon into which objects are put.
func looked(c Config, r Request) *look {
	c.LateAfter, c.StuckAfter = DefaultLateAfter, DefaultStuckAfter
	l := newLook(&Inventory{config: c}, r)
	l.report.Time = noon
	l.divide()
	return l
}

var pods = kubeclient.Resource{Version: "v1", Resource: "pods", Kind: "Pod", Namespaced: true}

// pod is a transient Pod that was created some time ago.
func pod(name string, age time.Duration, annotations ...string) seen {
	o := thing("", "Pod", "shop", name, age, isTransient, map[string]string{})
	for n := 0; n < len(annotations); n += 2 {
		o.Annotations[annotations[n]] = annotations[n+1]
	}
	return seen{Object: o}
}

func lines(findings []Finding) string {
	var b strings.Builder
	for _, f := range findings {
		of := f.Resource
		if f.Object != nil {
			of = f.Object.Name
		}
		fmt.Fprintf(&b, "%s %s: %s\n", f.Problem, of, f.Message)
	}
	return b.String()
}

func TestTransientIsCounted(t *testing.T) {
	t.Parallel()
	l := looked(Config{Tiers: []reaper.Tier{{Name: "preview", MaxTTL: 48 * time.Hour}, {Name: "long", MaxTTL: 240 * time.Hour}}, MaxTTL: 72 * time.Hour}, Request{AllNamespaces: true})
	l.tiers["shop"] = "preview"
	long, none, other := pod("long", 80*time.Hour, keys.TTL, "7d"), pod("none", 80*time.Hour, keys.TTL, "7d"), pod("other", 70*time.Hour, keys.TTL, "7d")
	long.Labels, none.Labels = map[string]string{keys.Intent: "transient", keys.Tier: "long"}, map[string]string{keys.Intent: "transient", keys.Tier: "unheard-of"}
	other.Namespace = "elsewhere"
	stuck, going := pod("stuck", 3*time.Hour, keys.TTL, "1h"), pod("going", 3*time.Hour, keys.TTL, "1h")
	stuck.Deleted, going.Deleted = noon.Add(-11*time.Minute), noon.Add(-9*time.Minute)
	l.add(pods, []seen{
		pod("new", time.Minute, keys.TTL, "1h"),
		pod("just-late", time.Hour+9*time.Minute, keys.TTL, "1h"),
		pod("late", time.Hour+11*time.Minute, keys.TTL, "1h"),
		pod("old", 72*time.Hour, keys.TTL, "7d"),
		pod("in-use", 96*time.Hour, keys.TTL, "7d", keys.LastActive, "2026-03-04T11:00:00Z"),
		long, none, other,
		pod("endless", time.Hour),
		stuck, going,
	})
	l.conclude()
	if len(l.report.Transient) != 1 {
		t.Fatalf("groups %+v", l.report.Transient)
	}
	got := l.report.Transient[0]
	want := Group{Resource: "pods", Count: 11, Terminating: 2, MedianAge: int64(3 * time.Hour / time.Second), Oldest: Ref{Kind: "Pod", Namespace: "shop", Name: "in-use"},
		OldestCreated: noon.Add(-96 * time.Hour), CreatedLastHour: 2, Overdue: 1, OlderThanTier: 2, Refused: 1}
	if got != want {
		t.Errorf("counted %+v\nwant    %+v", got, want)
	}
	const findings = `Refused endless: it is transient, and nothing says until when: annotate it with ` + keys.TTL + ` or ` + keys.ExpiresAt + `
Stuck stuck: it is being deleted for 11m: whatever set its finalizers has not removed them
Overdue late: it is past its end for 11m: nothing has ended it; kubectl pharos reap does, or says what keeps it
OlderThanTier none: it is there for 3d8h after its last activity, and what is of no tier allows 3d
OlderThanTier old: it is there for 3d after its last activity, and the tier preview allows 2d
`
	if got := lines(l.report.Findings); got != findings {
		t.Errorf("findings\n%s", got)
	}
}

// A trend is told of the samples of the same scope in which the resource was read.
func TestClimbing(t *testing.T) {
	t.Parallel()
	var samples []Sample
	for n := range 8 {
		at := noon.Add(time.Duration(n-8) * time.Hour)
		samples = append(samples,
			Sample{Time: at, Scope: "shop", Counts: map[string]int{"pods": n}},
			Sample{Time: at.Add(time.Minute), Scope: "all", Counts: map[string]int{"pods": 900 - 100*n}},
			Sample{Time: at.Add(2 * time.Minute), Scope: "shop", Counts: map[string]int{}, Unread: []string{"pods"}})
	}
	l := looked(Config{}, Request{Namespaces: []string{"shop"}, Samples: samples})
	for n := range 8 {
		l.add(pods, []seen{pod(fmt.Sprint(n), time.Minute, keys.TTL, "1h")})
	}
	l.conclude()
	trend := l.report.Transient[0].Trend
	if trend == nil || trend.PerHour != 1 || trend.Readings != 9 || !trend.Since.Equal(noon.Add(-8*time.Hour)) || !trend.Climbing {
		t.Errorf("trend %+v", trend)
	}
	if got := lines(l.report.Findings); got != "Climbing pods: there are ever more: 8 now, about +1 an hour over 9 readings since 2026-03-04T04:00:00Z\n" {
		t.Errorf("findings %s", got)
	}
	// Of more samples than are kept, whoever wrote them, only the last ones count.
	var many []Sample
	for n := range 100_000 {
		many = append(many, Sample{Time: noon.Add(time.Duration(n-100_000) * time.Second), Scope: "shop", Counts: map[string]int{"pods": n}})
	}
	l = looked(Config{}, Request{Namespaces: []string{"shop"}, Samples: many})
	l.add(pods, []seen{pod("a", time.Minute, keys.TTL, "1h")})
	l.conclude()
	if trend := l.report.Transient[0].Trend; trend != nil { // they span no hour
		t.Errorf("trend %+v", trend)
	}
	// What could not be read now has no trend.
	l = looked(Config{}, Request{Namespaces: []string{"shop"}, Samples: samples})
	l.add(pods, []seen{pod("a", time.Minute, keys.TTL, "1h")})
	l.gap(Gap{Resource: "pods", Namespace: "shop", Message: "cut"})
	l.conclude()
	if l.report.Transient[0].Trend != nil {
		t.Errorf("trend %+v of half a list", l.report.Transient[0].Trend)
	}
}

// A database has the size of the claims that it owns, and a snapshot's content is
// counted with the snapshot.
func TestDurableBelongTogether(t *testing.T) {
	t.Parallel()
	l := looked(Config{}, Request{AllNamespaces: true})
	claim := func(name string, size string) seen {
		o := thing("", "PersistentVolumeClaim", "shop", name, time.Hour, nil, nil)
		o.Owned = true
		c := &corev1.PersistentVolumeClaim{}
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		return seen{Object: o, owners: []string{"uid-of-orders"}, claim: c}
	}
	orders := thing("postgresql.cnpg.io", "Cluster", "shop", "orders", time.Hour, nil, map[string]string{keys.Owner: "ann"})
	orders.UID = "uid-of-orders"
	snapshot := thing("snapshot.storage.k8s.io", "VolumeSnapshot", "shop", "nightly", time.Hour, nil, nil)
	snapshot.UID = "1234"
	l.add(kubeclient.Resource{Version: "v1", Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim", Namespaced: true}, []seen{claim("orders-1", "10Gi"), claim("orders-2", "5Gi")})
	l.add(kubeclient.Resource{Group: "postgresql.cnpg.io", Version: "v1", Resource: "clusters", Kind: "Cluster", Namespaced: true}, []seen{{Object: orders}})
	contents := kubeclient.Resource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshotcontents", Kind: "VolumeSnapshotContent"}
	l.add(contents, []seen{{Object: thing(contents.Group, contents.Kind, "", "snapcontent-1234", 0, nil, nil)}, {Object: thing(contents.Group, contents.Kind, "", "snapcontent-5678", 0, nil, nil)}})
	l.add(kubeclient.Resource{Group: contents.Group, Version: "v1", Resource: "volumesnapshots", Kind: "VolumeSnapshot", Namespaced: true}, []seen{{Object: snapshot}})
	l.conclude()
	var got []string
	for _, d := range l.report.Durable {
		size := ""
		if d.Size != nil {
			size = d.Size.String()
		}
		got = append(got, d.Object.String()+" "+size)
	}
	if want := "[Cluster shop/orders 15Gi VolumeSnapshot shop/nightly  VolumeSnapshotContent snapcontent-5678 ]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// What is declared and says that it ends contradicts itself, whatever else it says.
func TestContradictions(t *testing.T) {
	t.Parallel()
	maps := kubeclient.Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true}
	objects := map[string]reaper.Object{
		"plain":    thing("", "ConfigMap", "shop", "plain", time.Hour, ours, nil),
		"retained": thing("", "ConfigMap", "shop", "retained", time.Hour, isRetained, nil),
		"waits":    thing("", "ConfigMap", "shop", "waits", time.Hour, isTransient, map[string]string{keys.TTL: "7d"}),
		"due":      thing("", "ConfigMap", "shop", "due", time.Hour, isTransient, map[string]string{keys.TTL: "1m"}),
		"wrong":    thing("", "ConfigMap", "shop", "wrong", time.Hour, isTransient, map[string]string{keys.TTL: "soon"}),
		"going":    thing("", "ConfigMap", "shop", "going", time.Hour, ours, nil),
	}
	d, page := &Declaration{}, []seen{}
	for name, o := range objects {
		d.Objects = append(d.Objects, DeclaredObject{Ref: refOf(o)})
		if name == "going" {
			o.Deleted = noon.Add(-time.Hour)
		}
		page = append(page, seen{Object: o})
	}
	l := looked(Config{Target: "devbox"}, Request{AllNamespaces: true, Declared: d})
	l.add(maps, page)
	l.conclude()
	var got []string
	for _, f := range l.report.Findings {
		got = append(got, string(f.Problem)+" "+f.Object.Name)
	}
	if want := "[Contradictory due Contradictory waits Contradictory wrong Stuck going]"; fmt.Sprint(got) != want || len(l.report.Transient) > 0 {
		t.Errorf("%v, want %s; transient %+v", got, want, l.report.Transient)
	}
}
