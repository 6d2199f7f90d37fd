package receipttest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/receipt"
)

// Target is the name of the target that the suite's records are for.
const Target = "conformance"

// digestOf returns a digest that stands for what its arguments say.
func digestOf(args ...any) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(fmt.Sprint(args...))))
}

// record returns the n-th of many different records.
func record(n int) receipt.Record {
	return receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: Target, ClusterUID: "5f0c8a52-8f4e-4f8f-b1f6-7a5a5b0f0a11"},
		Commit:     fmt.Sprintf("%040x", n),
		Tree:       fmt.Sprintf("%040x", n+1),
		Catalogue:  digestOf("catalogue", n),
		Renderer:   receipt.Renderer{Name: "kustomize", Version: "v0.21.2"},
	}
}

// full returns a record that uses every field, with text that is easily
// damaged on its way.
func full() receipt.Record {
	r := record(1)
	r.Parent = receipt.ID(digestOf("parent"))
	r.RollbackOf = receipt.ID(digestOf("rollback of"))
	r.Images = []receipt.Image{
		{
			Name:        "web",
			Fingerprint: digestOf("web"),
			Preimage: []receipt.Field{
				{Key: "quotes", Value: `"'\` + "`${x}`"},
				{Key: "lines", Value: "a\nb\r\n\tc\n\n"},
				{Key: "controls", Value: "\x00\x01\x1b[31m\x7f"},
				{Key: "letters", Value: "für <всех> & \u2028\u2029\ufeff \U0001F600 e\u0301"},
				{Key: "empty", Value: ""},
				{Key: "spaces", Value: "   "},
				{Key: "markup", Value: "---\n- {{ .Values }}: !!binary |\n"},
			},
			Repository: "localhost:5000/dev/web",
			Digest:     digestOf("web index"),
			Platforms:  []string{"linux/amd64", "linux/arm64"},
			Bases:      []string{"gcr.io/distroless/static@" + digestOf("base")},
			Toolchain:  "go1.26.8",
		},
	}
	r.Reads = []string{"a b/ü.yaml", "overlays/dev/kustomization.yaml"}
	r.Objects = []receipt.Object{
		{Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "shop", Hash: digestOf("shop")},
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", Name: "web", Hash: digestOf("deployment")},
	}
	return r
}

// large returns a record of more than 1 MiB: 5,000 objects, whose hashes cannot be
// compressed, and 10,000 paths that were read.
func large() receipt.Record {
	r := record(2)
	for i := range 5_000 {
		r.Objects = append(r.Objects, receipt.Object{
			Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments",
			Namespace: "shop", Name: fmt.Sprintf("service-with-a-long-name-%06d", i), Hash: digestOf(i),
		})
	}
	for i := range 10_000 {
		r.Reads = append(r.Reads, fmt.Sprintf("gitops/bases/service-%05d/%s/deployment.yaml", i, digestOf("path", i)[7:27]))
	}
	return r
}

// began is when the first outcome of the suite was seen.
var began = time.Date(2026, 3, 4, 5, 6, 7, 890123456, time.UTC)

// outcome returns the n-th of many different outcomes.
func outcome(n int) receipt.Outcome {
	return receipt.Outcome{
		Type:      []receipt.OutcomeType{receipt.OutcomeAttempt, receipt.OutcomeFailed, receipt.OutcomeSuperseded}[n%3],
		Time:      began.Add(time.Duration(n) * time.Nanosecond),
		Operation: fmt.Sprintf("op-%d", n),
		Actor:     "ann@laptop",
		Reason:    strings.Repeat("x", n%2),
	}
}

// live returns an outcome that saw n objects.
func live(n int) receipt.Outcome {
	o := receipt.Outcome{Type: receipt.OutcomeLive, Time: began, Operation: "op-live"}
	for i := range n {
		o.Objects = append(o.Objects, receipt.Seen{
			Group: "apps", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("service-%06d", i),
			UID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", i), Owned: digestOf("owned", i),
		})
	}
	return o
}

// applications returns an outcome that saw n Applications, and everything that
// one of them can hold.
func applications(n int) receipt.Outcome {
	o := receipt.Outcome{Type: receipt.OutcomeFailed, Time: began, Operation: "op-applications", Reason: "not healthy"}
	for i := range n {
		o.Applications = append(o.Applications, receipt.Application{
			Namespace: "argocd", Name: fmt.Sprintf("shop-%04d", i), UID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", i),
			Project: "shop", Revisions: []string{fmt.Sprintf("%040x", i), "1.2.3"}, Sync: "Synced", Health: "Degraded",
			Operation: "Failed", Message: "one or more objects failed to apply: \"ünknown\"\n",
			Finished: began.Truncate(time.Second), Reconciled: began.Add(time.Second).Truncate(time.Second),
			Images:     []string{"localhost:5000/dev/api@" + digestOf("api"), "localhost:5000/dev/web@" + digestOf("web")},
			Conditions: []string{"SyncError: it failed"},
		}, receipt.Application{Namespace: "argocd", Name: fmt.Sprintf("unseen-%04d", i)})
	}
	return o
}

// completed returns an outcome that saw n Jobs complete.
func completed(n int) receipt.Outcome {
	o := receipt.Outcome{Type: receipt.OutcomeCompleted, Time: began, Operation: "op-jobs"}
	for i := range n {
		o.Jobs = append(o.Jobs, receipt.Object{
			Group: "batch", Version: "v1", Kind: "Job", Resource: "jobs",
			Namespace: "shop", Name: fmt.Sprintf("migrate-%06d", i), Hash: digestOf("job", i),
		})
	}
	return o
}

// notIDs are strings that no receipt has as its ID.
var notIDs = []receipt.ID{
	"",
	"sha256:",
	"../../../etc/passwd",
	"*",
	receipt.ID(strings.Repeat("a", 64)),
	receipt.ID("sha256:" + strings.Repeat("A", 64)),
	receipt.ID("sha256:" + strings.Repeat("a", 10_000)),
	receipt.ID("sha256:" + strings.Repeat("/", 64)),
	receipt.ID("sha256:" + strings.Repeat("a", 63) + "\n"),
}
