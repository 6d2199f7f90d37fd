package inventory_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

// patience bounds what a loaded machine may take for what takes a moment.
const patience = 2 * time.Minute

// bench is a namespace of its own on the shared cluster.
type bench struct {
	cluster   *devenv.Cluster
	namespace string
	client    dynamic.Interface
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := devtest.Cluster(t)
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{cluster: c, namespace: devtest.Namespace(t, c), client: client}
}

// create makes the objects of some YAML documents, in which NS stands for the
// namespace. What has no namespace is deleted at the test's end.
func (b *bench) create(t *testing.T, docs string) []*unstructured.Unstructured {
	t.Helper()
	var made []*unstructured.Unstructured
	for doc := range strings.SplitSeq(strings.ReplaceAll(docs, "NS", b.namespace), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		of := b.of(u)
		// A kind that has just been defined takes a moment to be served.
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			now, err := of.Create(ctx, u, metav1.CreateOptions{})
			if err == nil {
				u = now
			}
			return err == nil, client404(err)
		})
		if err != nil {
			t.Fatalf("create %s %s: %v", u.GetKind(), u.GetName(), err)
		}
		made = append(made, u)
		if u.GetNamespace() == "" {
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
				defer cancel()
				if err := of.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
					t.Errorf("delete %s %s: %v", u.GetKind(), u.GetName(), err)
				}
			})
		}
	}
	return made
}

func client404(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// of is the client of an object's resource.
func (b *bench) of(u *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	if u.GetNamespace() == "" {
		return b.client.Resource(resource)
	}
	return b.client.Resource(resource).Namespace(u.GetNamespace())
}

// take looks once, as somebody.
func take(t *testing.T, as *rest.Config, c inventory.Config, r inventory.Request) inventory.Report {
	t.Helper()
	c.REST = as
	i, err := inventory.New(c)
	if err != nil {
		t.Fatal(err)
	}
	report, err := i.Take(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	// What other tests define and take away again at the same time says nothing here.
	report.Coverage = slices.DeleteFunc(report.Coverage, func(g inventory.Gap) bool {
		return strings.Contains(g.Resource, ".pharos.test") && !strings.Contains(g.Resource, "mine")
	})
	return report
}

// lines are the findings, each as one line, with NS for the namespace.
func (b *bench) lines(r inventory.Report) []string {
	var lines []string
	for _, f := range r.Findings {
		line := string(f.Problem) + " "
		if f.Object != nil {
			line += f.Object.String()
		} else {
			line += f.Resource
		}
		lines = append(lines, strings.ReplaceAll(line, b.namespace, "NS"))
	}
	return lines
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
