package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// Report tells what is there that a policy would have refused.
type Report struct {
	// Looked is how many objects were looked at.
	Looked int `json:"looked"`
	// Findings are those that would have been refused, by resource and namespace.
	Findings []Finding `json:"findings,omitempty"`
	// Quotas are the limits of the namespaces' quotas, by namespace and name; none where
	// Config names no namespaces.
	Quotas []Quota `json:"quotas,omitempty"`
	// Gaps are what could not be looked at, each with the reason.
	Gaps []Gap `json:"gaps,omitempty"`
}

// Finding is an object that a policy would have refused, and why.
type Finding struct {
	Resource  string    `json:"resource"` // "deployments.apps"
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       string    `json:"uid"`
	Refusals  []Refusal `json:"refusals"`
}

// Gap is a resource that could not be looked at, in a namespace or at all.
type Gap struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Reason    string `json:"reason"`
}

// Review reports which existing objects the policy of c would have refused at their
// creation, by their metadata as it is now, and what of its quotas is used. Nothing is written. What cannot be listed
// is a gap, never taken for absent, and neither is what a server that is not ready does
// not name; without the resources of the API server, and the
// namespaces that it is for, there is an error. It takes the right to list the
// resources, the namespaces where c names none, and pods where the tier limits CPU or
// memory.
func Review(ctx context.Context, config *rest.Config, c Config) (Report, error) {
	if err := c.check(); err != nil {
		return Report{}, err
	}
	r, err := kubeclient.New(config, schema.GroupVersion{Version: "v1"}, corev1.AddToScheme)
	if err != nil {
		return Report{}, err
	}
	v := &reviewer{rest: r, config: c, counted: map[counted]int64{}}
	err = v.review(ctx)
	return v.report, err
}

type reviewer struct {
	rest   rest.Interface
	config Config
	report Report
	// counted are the objects of a resource in a namespace, where all were seen.
	counted map[counted]int64
}

func (v *reviewer) review(ctx context.Context) error {
	unready := kubeclient.Retry(ctx, func() error { return kubeclient.Ready(ctx, v.rest) })
	served, stale, err := kubeclient.Discover(ctx, v.rest)
	if err != nil {
		return err
	}
	namespaces, err := v.namespaces(ctx)
	if err != nil {
		return fmt.Errorf("find the namespaces of the tier %s: %w", v.config.Tier.Name, err)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(v.config.Resources))) {
		i := slices.IndexFunc(served, func(r kubeclient.Resource) bool { return r.String() == name })
		if i < 0 {
			v.gap(name, "", cmp.Or(unready, unserved(name, stale)))
			continue
		}
		in := namespaces
		if !served[i].Namespaced {
			in = []string{""}
		}
		for _, namespace := range in {
			if err := v.list(ctx, served[i], namespace); err != nil {
				if ctx.Err() != nil {
					return err
				}
				v.gap(name, namespace, err)
			}
		}
	}
	return v.quotas(ctx)
}

func (v *reviewer) gap(resource, namespace string, err error) {
	v.report.Gaps = append(v.report.Gaps, Gap{resource, namespace, err.Error()})
}

// unserved says why a resource was not found.
func unserved(name string, stale []schema.GroupVersion) error {
	group := schema.ParseGroupResource(name).Group
	if slices.ContainsFunc(stale, func(gv schema.GroupVersion) bool { return gv.Group == group }) {
		return errors.New("the API server cannot tell now what the group has")
	}
	return errors.New("the API server does not serve it")
}

// namespaces are those that the policy is bound to.
func (v *reviewer) namespaces(ctx context.Context) ([]string, error) {
	if len(v.config.Namespaces) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(v.config.Namespaces))), nil
	}
	var names []string
	err := v.pages(ctx, "/api/v1/namespaces", keys.Tier+"="+v.config.Tier.Name, func(m *metav1.PartialObjectMetadata) { names = append(names, m.Name) })
	return names, err
}

// list looks at one resource in one namespace, or at all of what is in none.
func (v *reviewer) list(ctx context.Context, r kubeclient.Resource, namespace string) error {
	path := "/apis/" + url.PathEscape(r.Group)
	if r.Group == "" {
		path = "/api"
	}
	path += "/" + url.PathEscape(r.Version)
	if namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	var n int64
	err := v.pages(ctx, path+"/"+url.PathEscape(r.Resource), "", func(m *metav1.PartialObjectMetadata) {
		n++
		o := reaper.ObjectOf(r.Group, r.Kind, m)
		if r.Group == "" && r.Kind == "Namespace" && !v.bound(o) {
			return
		}
		v.report.Looked++
		if refusals := Check(o, v.config.Tier); len(refusals) > 0 {
			v.report.Findings = append(v.report.Findings, Finding{r.String(), r.Kind, o.Namespace, o.Name, o.UID, refusals})
		}
	})
	if err == nil {
		v.counted[counted{r.String(), namespace}] = n
	}
	return err
}

// bound says whether the policy is for a namespace itself.
func (v *reviewer) bound(o reaper.Object) bool {
	if len(v.config.Namespaces) > 0 {
		return slices.Contains(v.config.Namespaces, o.Name)
	}
	return o.Labels[keys.Tier] == v.config.Tier.Name
}

// pages calls see with the metadata of each object, page by page.
func (v *reviewer) pages(ctx context.Context, path, selector string, see func(*metav1.PartialObjectMetadata)) error {
	for next := ""; ; {
		var page metav1.PartialObjectMetadataList
		err := v.rest.Get().AbsPath(path).MaxRetries(0).SetHeader("Accept", kubeclient.MetadataOnlyList).
			Param("labelSelector", selector).Param("limit", "500").Param("continue", next).Do(ctx).Into(&page)
		if err != nil {
			return err
		}
		for i := range page.Items {
			see(&page.Items[i])
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}
