package main

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

// differs CODE FILE RECEIPT ARGS… compares the receipt whose ID the file holds,
// by some of its digits, with another; that must exit with the code.
func differs(ts *testscript.TestScript, _ bool, args []string) {
	id := strings.TrimPrefix(strings.TrimSpace(ts.ReadFile(args[1])), "sha256:")
	pharos(ts, false, append([]string{args[0], "receipts", "diff", id[:8]}, args[2:]...))
}

// lose FILE deletes the images of the receipt whose ID the file holds from the
// registry.
func lose(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(testingTB{}).(testing.TB)
	ns := ts.Getenv("NS")
	store, err := kube.New(kube.Config{REST: devtest.Cluster(t).Config(), Namespace: ns, Target: ns})
	ts.Check(err)
	rec, err := store.Get(t.Context(), receipt.ID(strings.TrimSpace(ts.ReadFile(args[0]))))
	ts.Check(err)
	for _, img := range rec.Images {
		ref, err := name.ParseReference(img.Repository+"@"+img.Digest, name.Insecure)
		ts.Check(err)
		ts.Check(remote.Delete(ref))
	}
}
