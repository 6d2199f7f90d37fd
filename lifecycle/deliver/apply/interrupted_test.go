package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

// killed is a delivery that dies.
type killed struct {
	Kubeconfig, Namespace string
	Objects               []lifecycle.Object
	After                 int // how many objects are accepted before it dies
}

func TestMain(m *testing.M) { killtest.Main(m, deliverAndDie) }

func deliverAndDie(ctx context.Context, k killed) error {
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return err
	}
	d, err := apply.New(apply.Config{RESTConfig: config, DefaultNamespace: k.Namespace, Concurrency: 1})
	if err != nil {
		return err
	}
	resolved, err := d.Resolve(ctx, k.Objects)
	if err != nil {
		return err
	}
	accepted := 0
	_, err = d.Deliver(ctx, lifecycle.DeliverRequest{
		Objects: k.Objects, Resolved: resolved, Target: k.Namespace, Guard: open,
		Progress: func(lifecycle.Change) {
			if accepted++; accepted == k.After {
				killtest.Die()
			}
		},
	})
	return err
}

const severalDocs = onceJob + "\n---\n" + configMap + "\n---\n" + deployment + `
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: api}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {p: x}`

// A delivery that is killed between any two objects leaves what it had done, and
// the next one does the rest.
func TestKilledBetweenAnyTwoObjects(t *testing.T) {
	t.Parallel()
	const objects = 5
	for after := 1; after <= objects; after++ {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.request(t, severalDocs)
			if !killtest.Run(t, killed{b.cluster.Kubeconfig(), b.namespace, r.Objects, after}) {
				t.Fatal("it was not killed")
			}
			jobs := b.jobs(t)
			result, err := b.Deliver(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			created := 0
			for _, c := range result.Changes {
				if c.Type == lifecycle.ChangeCreated {
					created++
				}
			}
			if created != objects-after || len(result.Changes) != objects {
				t.Errorf("%d are created of %q", created, lines(result.Changes))
			}
			o := b.wait(t, r.Resolved)
			want(t, "orphans", names(o.Orphans))
			if len(jobs) > 0 {
				want(t, "the Job that was there", b.jobs(t), jobs...)
			}
		})
	}
}

// The API server is killed while objects are written, and comes back.
func TestServerRestartedInTheMiddleOfADelivery(t *testing.T) {
	t.Parallel()
	cluster := devtest.OwnCluster(t, devenv.Options{})
	b := benchOn(t, cluster, cluster.Config())
	var docs []string
	for n := range 60 {
		docs = append(docs, strings.ReplaceAll(configMap, "settings", fmt.Sprintf("settings-%d", n)))
	}
	r := b.request(t, strings.Join(docs, "\n---\n"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	back := make(chan error, 1)
	n := 0
	var once sync.Once
	r.Progress = func(lifecycle.Change) {
		if n++; n == 20 {
			once.Do(func() {
				if err := cluster.Kill(); err != nil {
					t.Error(err)
				}
				go func() { back <- cluster.Resume(ctx) }()
			})
		}
	}
	result, err := b.Deliver(ctx, r)
	if resumed := <-back; resumed != nil {
		t.Fatal(resumed)
	}
	if err != nil || len(result.Changes) != len(docs) {
		t.Fatalf("%d objects, %v", len(result.Changes), err)
	}
	r.Progress = nil
	again, err := b.Deliver(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines(again.Changes) {
		if !strings.HasPrefix(l, "unchanged ") {
			t.Errorf("then %s", l)
		}
	}
}

// A kind whose versions cannot be converted can be neither listed nor applied;
// the error names the webhook that should do it.
func TestConversionThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Deliverer = newDeliverer(t, apply.Config{RESTConfig: b.cluster.Config(), DefaultNamespace: b.namespace, RetryFor: 1})
	client := webhook(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusBadGateway) })
	crd := strings.NewReplacer("GROUP", "NS.pharos.test", "URL", *client.URL, "BUNDLE", encoded(client.CABundle)).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: beacons.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: beacons, singular: beacon, kind: Beacon, listKind: BeaconList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: URL, caBundle: BUNDLE}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`)
	beacon := strings.ReplaceAll("apiVersion: GROUP/v1\nkind: Beacon\nmetadata: {name: north}", "GROUP", "NS.pharos.test")
	cleanUpCluster(t, b, b.namespace+"-none", "beacons."+b.namespace+".pharos.test")
	b.wait(t, b.deliver(t, crd+"\n---\n"+beacon))
	r := b.request(t, configMap+"\n---\n"+strings.Replace(beacon, "/v1", "/v2", 1))
	_, err := b.Deliver(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrUnreachable) || errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got %v", err)
	}
	mustContain(t, err.Error(), "beacons."+b.namespace+".pharos.test", "conversion webhook for ", "See that what stands behind this webhook runs")
	if list, err := b.admin.CoreV1().ConfigMaps(b.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=settings"}); err != nil || len(list.Items) > 0 {
		t.Errorf("written although not everything could be seen: %v %v", list.Items, err)
	}
	deliverAll(t, b, b.request(t, configMap+"\n---\n"+beacon))
}
