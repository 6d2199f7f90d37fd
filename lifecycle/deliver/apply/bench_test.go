package apply_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

// many ConfigMaps are what the benchmarks deliver.
const many = 200

func manyDocs(round string) string {
	var docs []string
	for n := range many {
		docs = append(docs, strings.NewReplacer("settings", fmt.Sprintf("settings-%s-%d", round, n)).Replace(configMap))
	}
	return strings.Join(docs, "\n---\n")
}

func BenchmarkDeliver(b *testing.B) {
	c := devtest.Cluster(b)
	ns := devtest.Namespace(b, c)
	d := newDeliverer(b, apply.Config{RESTConfig: c.Config(), DefaultNamespace: ns})
	send := func(b *testing.B, docs string) {
		b.StopTimer()
		o := objects(b, ns, docs)
		r := lifecycle.DeliverRequest{Objects: o, Resolved: resolve(b, d, o), Target: ns, Guard: open}
		b.StartTimer()
		if _, err := d.Deliver(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	round := 0
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			round++
			send(b, manyDocs(fmt.Sprint(round)))
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*many), "ms/object")
	})
	cleanMaps(b, ns)
	docs := manyDocs("same")
	send(b, docs)
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			send(b, docs)
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*many), "ms/object")
	})
	b.Run("observe", func(b *testing.B) {
		resolved := resolve(b, d, objects(b, ns, docs))
		for b.Loop() {
			if _, err := d.Observe(b.Context(), lifecycle.ObserveRequest{Target: ns, Objects: resolved}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func cleanMaps(b *testing.B, ns string) {
	b.Helper()
	c := devtest.Client(b, devtest.Cluster(b).Config())
	if err := c.CoreV1().ConfigMaps(ns).DeleteCollection(b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBareLoop is the peer: the same requests and nothing else.
func BenchmarkBareLoop(b *testing.B) {
	c := devtest.Cluster(b)
	ns := devtest.Namespace(b, c)
	hc, err := rest.HTTPClientFor(c.Config())
	if err != nil {
		b.Fatal(err)
	}
	loop := func(b *testing.B, docs string) {
		b.StopTimer()
		list := objects(b, ns, docs)
		work := make(chan lifecycle.Object)
		b.StartTimer()
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for o := range work {
					bare(b, hc, c.Config().Host+"/api/v1/namespaces/"+ns+"/configmaps/"+o.Name+"?fieldManager=pharos", o.JSON)
				}
			})
		}
		for _, o := range list {
			work <- o
		}
		close(work)
		wg.Wait()
	}
	round := 0
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			round++
			loop(b, manyDocs(fmt.Sprint(round)))
		}
	})
	cleanMaps(b, ns)
	docs := manyDocs("same")
	loop(b, docs)
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			loop(b, docs)
		}
	})
}

func bare(b *testing.B, hc *http.Client, address string, body []byte) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(b.Context()), http.MethodPatch, address, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/apply-patch+yaml")
	resp, err := hc.Do(req)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := new(bytes.Buffer).ReadFrom(resp.Body); err != nil || resp.StatusCode >= 300 {
		b.Errorf("%d %v", resp.StatusCode, err)
	}
}
