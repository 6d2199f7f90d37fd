package kube_test

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
	"github.com/pharos-dev/pharos/receipt/receipttest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	receipttest.TestStore(t, func(t *testing.T) receipt.Store {
		s, err := kube.New(kube.Config{REST: c.Config(), Namespace: devtest.Namespace(t, c), Target: receipttest.Target})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
