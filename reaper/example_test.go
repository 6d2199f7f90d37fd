package reaper_test

import (
	"fmt"
	"time"

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
	// not a duration: "3600": "3600" has no unit, want w, d, h, m or s
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
	// pharos.dev/ttl: not a duration: "-7d": a number of w, d, h, m or s is expected at "-7d"
	// pharos.dev/expires-at: not a time: "2026-03-04 05:06", want one such as 2026-03-04T05:06:07Z (RFC 3339 with a zone)
}

func ExampleOutlives() {
	fmt.Println(reaper.Outlives(reaper.Object{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot", Namespace: "preview-42", Name: "before"}))
	// Output: it is a durable artefact and does not say that it is transient
}
