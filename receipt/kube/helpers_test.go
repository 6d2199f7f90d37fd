package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

func open(t *testing.T, config *rest.Config, namespace, target string) *kube.Store {
	t.Helper()
	s, err := kube.New(kube.Config{REST: config, Namespace: namespace, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(target string, n int) receipt.Record {
	return receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: target, ClusterUID: "5f0c8a52-8f4e-4f8f-b1f6-7a5a5b0f0a11"},
		Commit:     fmt.Sprintf("%040x", n),
		Tree:       strings.Repeat("2", 40),
		Catalogue:  "sha256:" + strings.Repeat("3", 64),
		Renderer:   receipt.Renderer{Name: "kustomize", Version: "v0.21.2"},
	}
}

func outcome(n int) receipt.Outcome {
	return receipt.Outcome{Type: receipt.OutcomeAttempt, Time: time.Unix(int64(n), 0).UTC(), Operation: fmt.Sprintf("op-%d", n)}
}
