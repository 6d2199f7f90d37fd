package inventory

import (
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// thing is an object of an age, with labels, and annotations after a nil.
func thing(group, kind, namespace, name string, age time.Duration, labels map[string]string, annotations map[string]string) reaper.Object {
	return reaper.Object{Group: group, Kind: kind, Namespace: namespace, Name: name, UID: namespace + kind + name, Created: noon.Add(-age),
		Labels: labels, Annotations: annotations}
}

var (
	isTransient = map[string]string{keys.Intent: "transient"}
	isRetained  = map[string]string{keys.Intent: "retained"}
	ours        = map[string]string{keys.Target: "devbox"}
)

// Each object has one bucket, by what it and its namespace say and by the names of
// what is declared. What says that it ends is never compared with a declaration of the
// same label, and what is declared never counts as transient.
func TestPlace(t *testing.T) {
	t.Parallel()
	p := partition{now: noon, target: "devbox", known: true, ending: map[string]bool{"preview": true},
		declared: map[Ref]bool{{"", "ConfigMap", "shop", "declared"}: true, {"", "ConfigMap", "preview", "declared"}: true},
		orphans:  map[Ref]bool{{"batch", "Job", "shop", "old"}: true}}
	owned := thing("", "Pod", "shop", "p", 0, isTransient, nil)
	owned.Owned = true
	going := thing("", "Pod", "shop", "p", time.Hour, isTransient, map[string]string{keys.TTL: "1m"})
	going.Deleted = noon
	for name, tt := range map[string]struct {
		o    reaper.Object
		want bucket
	}{
		"declared":                               {thing("", "ConfigMap", "shop", "declared", 0, ours, nil), declared},
		"declared, without its label":            {thing("", "ConfigMap", "shop", "declared", 0, nil, nil), declared},
		"declared and transient":                 {thing("", "ConfigMap", "shop", "declared", 0, isTransient, nil), declared},
		"declared in a namespace that ends":      {thing("", "ConfigMap", "preview", "declared", 0, nil, nil), declared},
		"declared's name in another group":       {thing("x.example", "ConfigMap", "shop", "declared", 0, nil, nil), durable},
		"declared's name elsewhere":              {thing("", "ConfigMap", "other", "declared", 0, nil, nil), other},
		"an orphan by its label":                 {thing("", "ConfigMap", "shop", "a", 0, ours, nil), orphaned},
		"an orphan by a receipt":                 {thing("batch", "Job", "shop", "old", 0, nil, nil), orphaned},
		"an orphan that is transient":            {thing("", "ConfigMap", "shop", "a", 0, map[string]string{keys.Target: "devbox", keys.Intent: "transient"}, nil), orphaned},
		"another target's":                       {thing("", "ConfigMap", "shop", "a", 0, map[string]string{keys.Target: "prod"}, nil), elsewhere},
		"another tool's":                         {thing("", "PersistentVolumeClaim", "shop", "a", 0, nil, map[string]string{"meta.helm.sh/release-name": "db"}), elsewhere},
		"transient":                              {thing("", "ConfigMap", "shop", "a", 0, isTransient, nil), transient},
		"a transient claim":                      {thing("", "PersistentVolumeClaim", "shop", "a", 0, isTransient, nil), transient},
		"being deleted":                          {going, transient},
		"an intent that cannot be read":          {thing("", "PersistentVolumeClaim", "shop", "a", 0, map[string]string{keys.Intent: "brief"}, nil), transient},
		"transient and another tool's":           {thing("", "ConfigMap", "shop", "a", 0, isTransient, map[string]string{"kapp.k14s.io/app": "x"}), transient},
		"owned":                                  {owned, leftOut},
		"in a namespace that ends":               {thing("", "ConfigMap", "preview", "a", 0, nil, nil), covered},
		"a claim in a namespace that ends":       {thing("", "PersistentVolumeClaim", "preview", "a", 0, nil, nil), covered},
		"a snapshot in a namespace that ends":    {thing("snapshot.storage.k8s.io", "VolumeSnapshot", "preview", "a", 0, nil, nil), durable},
		"retained in a namespace that ends":      {thing("", "ConfigMap", "preview", "a", 0, isRetained, nil), durable},
		"retained":                               {thing("", "ConfigMap", "shop", "a", 0, isRetained, nil), durable},
		"a claim":                                {thing("", "PersistentVolumeClaim", "shop", "a", 0, nil, nil), durable},
		"a volume":                               {thing("", "PersistentVolume", "", "a", 0, nil, nil), durable},
		"a StatefulSet":                          {thing("apps", "StatefulSet", "shop", "a", 0, nil, nil), durable},
		"a database":                             {thing("postgresql.cnpg.io", "Cluster", "shop", "a", 0, nil, nil), durable},
		"a Deployment that somebody made":        {thing("apps", "Deployment", "shop", "a", 0, nil, nil), other},
		"a Route of Kubernetes's own group":      {thing("gateway.networking.k8s.io", "HTTPRoute", "shop", "a", 0, nil, nil), other},
		"the root certificate of a namespace":    {thing("", "ConfigMap", "shop", "kube-root-ca.crt", 0, nil, nil), leftOut},
		"a claim of the system":                  {thing("", "PersistentVolumeClaim", "kube-system", "a", 0, nil, nil), leftOut},
		"a receipt":                              {thing("", "ConfigMap", "pharos", "a", 0, map[string]string{keys.ReceiptsOf: "devbox"}, nil), leftOut},
		"a claim in a protected namespace's way": {thing("", "PersistentVolumeClaim", "kube", "a", 0, nil, nil), durable},
	} {
		if got, _ := p.place(tt.o); got != tt.want {
			t.Errorf("%s: bucket %d, want %d", name, got, tt.want)
		}
	}
	// Without a declaration, nothing is an orphan of it.
	p.known, p.declared, p.orphans = false, nil, nil
	if got, _ := p.place(thing("", "ConfigMap", "shop", "a", 0, ours, nil)); got != elsewhere {
		t.Errorf("without a declaration: bucket %d, want %d", got, elsewhere)
	}
}

func TestClaimsOfAStatefulSet(t *testing.T) {
	t.Parallel()
	s := set{ref: Ref{"apps", "StatefulSet", "shop", "db"}, claims: []string{"data-db-", "logs-db-"}}
	for claim, want := range map[Ref]bool{
		{"", "PersistentVolumeClaim", "shop", "data-db-0"}:   true,
		{"", "PersistentVolumeClaim", "shop", "logs-db-12"}:  true,
		{"", "PersistentVolumeClaim", "other", "data-db-0"}:  false,
		{"", "PersistentVolumeClaim", "shop", "data-db-"}:    false,
		{"", "PersistentVolumeClaim", "shop", "data-db-00"}:  false,
		{"", "PersistentVolumeClaim", "shop", "data-db-+1"}:  false,
		{"", "PersistentVolumeClaim", "shop", "data-db--1"}:  false,
		{"", "PersistentVolumeClaim", "shop", "data-db-0-1"}: false,
		{"", "PersistentVolumeClaim", "shop", "data-db2-0"}:  false,
	} {
		if s.made(claim) != want {
			t.Errorf("%s: made is %t, want %t", claim, !want, want)
		}
	}
}
