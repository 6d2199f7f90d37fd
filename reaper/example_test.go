package reaper_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/reaper"
)

func ExampleParseDuration() {
	for _, s := range []string{"36h", "2w", "1d12h", "3600", "12h1d"} {
		d, err := reaper.ParseDuration(s)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(s, "is", d)
	}
	// Output:
	// 36h is 36h0m0s
	// 2w is 336h0m0s
	// 1d12h is 36h0m0s
	// not a duration: "3600": it has no unit, want w, d, h, m or s
	// not a duration: "12h1d": "d" stands after a smaller unit or the same, want w, d, h, m, s in this order
}

func ExampleFormatDuration() {
	fmt.Println(reaper.FormatDuration(36*time.Hour), reaper.FormatDuration(14*24*time.Hour))
	// Output: 1d12h 14d
}

func ExampleRules_Decide() {
	created := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	preview := reaper.Object{
		Kind: "Namespace", Name: "preview-42", UID: "6a3c", Created: created,
		Labels:      map[string]string{"pharos.dev/intent": "transient"},
		Annotations: map[string]string{"pharos.dev/ttl": "36h", "pharos.dev/last-active": "2026-03-02T09:00:00Z"},
	}
	var rules reaper.Rules
	for _, days := range []int{2, 3} {
		d := rules.Decide(preview, created.AddDate(0, 0, days))
		fmt.Println(d.Verdict, d.Reason, d.Message)
	}
	preview.Annotations["helm.sh/resource-policy"] = "keep"
	d := rules.Decide(preview, created.AddDate(0, 0, 3))
	fmt.Println(d.Verdict, d.Reason, d.Message)
	// Output:
	// wait NotDue it ends at 2026-03-03T21:00:00Z
	// delete Due it ended at 2026-03-03T21:00:00Z
	// refuse KeptBy it is transient, and helm.sh/resource-policy=keep says that it stays: remove one of them
}

func ExampleReadIntent() {
	_, err := reaper.ReadIntent(
		map[string]string{"pharos.dev/intent": "temporary"},
		map[string]string{"pharos.dev/ttl": "-7d", "pharos.dev/expires-at": "2026-03-04 05:06"},
	)
	fmt.Println(err)
	// Output:
	// pharos.dev/intent: "temporary" is neither transient nor retained
	// pharos.dev/ttl: not a duration: "-7d": a number of w, d, h, m or s is expected
	// pharos.dev/expires-at: not a time: "2026-03-04 05:06", want one such as 2026-03-04T05:06:07Z (RFC 3339 with a zone)
}

func ExampleOutlives() {
	fmt.Println(reaper.Outlives(reaper.Object{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot", Namespace: "preview-42", Name: "before"}))
	// Output: it is a durable artefact and does not say that it is transient
}

// A harness creates a sandbox within a tier, and waits for room if there is none.
func ExampleClient_Create() {
	var config *rest.Config // of the cluster
	create := func(ctx context.Context) error {
		c, err := reaper.NewClient(config)
		if err != nil {
			return err
		}
		_, err = c.Create(ctx, reaper.Creation{
			Ref:    reaper.Ref{Version: "v1", Resource: "pods", Kind: "Pod", Namespace: "sandboxes"},
			Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "agent-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "registry.example.org/agent"}}}},
			Intent: reaper.Intent{Kind: reaper.Transient, TTL: 2 * time.Hour, Owner: "ann@example.org"},
			Tier:   reaper.Tier{Name: "agents", MaxTTL: 24 * time.Hour, MaxObjects: 20, CPU: 8000, Memory: 16 << 30, CreatesPerHour: 100},
			Ledger: "pharos",
		})
		var denied *reaper.DeniedError
		if errors.As(err, &denied) && !denied.Room().IsZero() {
			return fmt.Errorf("come back at %s: %w", reaper.FormatTime(denied.Room()), err)
		}
		return err
	}
	_ = create
}

func ExampleDeniedError() {
	err := &reaper.DeniedError{Tier: "agents", Denials: []reaper.Denial{
		{Limit: reaper.LimitObjects, Max: 20, Used: 20, Asked: 1, Room: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)},
		{Limit: reaper.LimitCPU, Max: 8000, Used: 7500, Asked: 9000},
	}}
	fmt.Println(err)
	fmt.Println(errors.Is(err, reaper.ErrDenied), err.Room().IsZero())
	// Output:
	// the tier agents has no room: 20 of 20 objects are there, until 2026-03-01T11:00:00Z; 7500m of 8000m CPU are requested, and it asks for 9000m, and that alone is too much
	// true true
}

// A process says that what it uses is in use.
func ExampleClient_Touch() {
	var config *rest.Config // of the cluster
	touch := func(ctx context.Context, uid string) error {
		c, err := reaper.NewClient(config)
		if err != nil {
			return err
		}
		_, err = c.Touch(ctx, reaper.Ref{Version: "v1", Resource: "namespaces", Name: "preview-42", UID: uid}, reaper.Change{})
		if errors.Is(err, reaper.ErrGone) {
			return fmt.Errorf("somebody ended the preview: %w", err)
		}
		return err
	}
	_ = touch
}
