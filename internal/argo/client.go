package argo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Client reads and patches Applications and AppProjects. It sends each request
// itself, and repeats no write: whoever writes has to look again first.
// It is safe for concurrent use.
type Client struct {
	rest  *rest.RESTClient
	clock kubeclient.ServerClock
}

// NewClient returns a client. It makes no call.
func NewClient(config *rest.Config) (*Client, error) {
	c := &Client{}
	var err error
	c.rest, err = kubeclient.New(c.clock.Listen(config), schema.GroupVersion{Group: Group, Version: Version}, func(*runtime.Scheme) error { return nil })
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Now is the API server's time, by its latest answer.
func (c *Client) Now() time.Time { return c.clock.Now() }

// Application reads one, with up to five tries where the server cannot answer.
func (c *Client) Application(ctx context.Context, namespace, name string) (*Application, error) {
	data, err := c.get(ctx, namespace, "applications", name)
	if err != nil {
		return nil, err
	}
	return ParseApplication(data)
}

// Project reads an AppProject, as Application does.
func (c *Client) Project(ctx context.Context, namespace, name string) (*Project, error) {
	data, err := c.get(ctx, namespace, "appprojects", name)
	if err != nil {
		return nil, err
	}
	p := &Project{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("read the AppProject: %w", err)
	}
	return p, nil
}

// Projects lists the AppProjects of a namespace, as Application does.
func (c *Client) Projects(ctx context.Context, namespace string) ([]*Project, error) {
	if err := checkNames(namespace); err != nil {
		return nil, err
	}
	return list[Project](ctx, c.rest.Get().Namespace(namespace).Resource("appprojects"))
}

// Named lists the Applications of a name in all namespaces, as Application does.
func (c *Client) Named(ctx context.Context, name string) ([]*Application, error) {
	if err := checkNames(name); err != nil {
		return nil, err
	}
	return list[Application](ctx, c.rest.Get().Resource("applications").Param("fieldSelector", "metadata.name="+name))
}

func (c *Client) get(ctx context.Context, namespace, resource, name string) ([]byte, error) {
	if err := checkNames(namespace, name); err != nil {
		return nil, err
	}
	return ask(ctx, c.rest.Get().Namespace(namespace).Resource(resource).Name(name))
}

func list[T any](ctx context.Context, r *rest.Request) ([]*T, error) {
	data, err := ask(ctx, r)
	if err != nil {
		return nil, err
	}
	var l struct {
		Items []*T `json:"items"`
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	return l.Items, nil
}

func ask(ctx context.Context, r *rest.Request) (data []byte, err error) {
	err = kubeclient.Retry(ctx, func() error {
		data, err = answer(r.MaxRetries(0).Do(ctx))
		return err
	})
	return data, err
}

// answer returns the body of an answer, or the error in the server's own words.
func answer(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

func checkNames(names ...string) error {
	for _, n := range names {
		if bad := content.IsPathSegmentName(n); n == "" || len(bad) > 0 {
			return fmt.Errorf("%q is no name: %s", n, strings.Join(bad, ", "))
		}
	}
	return nil
}

// Op is one operation of a JSON patch (RFC 6902).
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// PointerTo returns the JSON pointer (RFC 6901) of a path of fields.
func PointerTo(fields ...string) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(f))
	}
	return b.String()
}

// Patch changes an Application, provided that it still is what was read: its
// resource version is part of the patch. One that changed since is an error that
// [Changed] matches. It is tried once.
func (c *Client) Patch(ctx context.Context, a *Application, manager string, ops []Op) (*Application, error) {
	data, err := c.patch(ctx, "applications", a.Metadata, manager, "Strict", ops)
	if err != nil {
		return nil, err
	}
	return ParseApplication(data)
}

// PatchProject changes an AppProject as Patch does an Application. A field that
// the cluster's definition of AppProjects does not have is left out.
func (c *Client) PatchProject(ctx context.Context, p *Project, manager string, ops []Op) (*Project, error) {
	data, err := c.patch(ctx, "appprojects", p.Metadata, manager, "Ignore", ops)
	if err != nil {
		return nil, err
	}
	changed := &Project{}
	if err := json.Unmarshal(data, changed); err != nil {
		return nil, fmt.Errorf("read the AppProject: %w", err)
	}
	return changed, nil
}

func (c *Client) patch(ctx context.Context, resource string, m metav1.ObjectMeta, manager, validation string, ops []Op) ([]byte, error) {
	if err := checkNames(m.Namespace, m.Name); err != nil {
		return nil, err
	}
	all := append([]Op{{"test", "/metadata/resourceVersion", m.ResourceVersion}, {"test", "/metadata/uid", m.UID}}, ops...)
	body, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return answer(c.rest.Patch(types.JSONPatchType).Namespace(m.Namespace).Resource(resource).Name(m.Name).
		Param("fieldManager", manager).Param("fieldValidation", validation).Body(body).MaxRetries(0).Do(ctx))
}

// Changed says whether a patch was refused because the object is not what was
// read any more. A server has no word of its own for a test that failed.
func Changed(err error) bool {
	var status apierrors.APIStatus
	if apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity {
		return apierrors.IsConflict(err)
	}
	// What is not valid is said field by field.
	d := status.Status().Details
	return d == nil || !slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}

// watchFor is how long one watch lasts before the Application is read again: one
// that hangs without a word is noticed then.
const watchFor = 8 * time.Second

// Follow reads an Application and then watches it, and calls tell with each
// state of it, nil for one that does not exist, until ctx ends. It reads again
// at least every ten seconds. It gives up when the server has not answered for
// patience, or refuses.
func (c *Client) Follow(ctx context.Context, namespace, name string, patience time.Duration, tell func(*Application)) error {
	heard := time.Now()
	pause := 100 * time.Millisecond
	for {
		began := time.Now()
		err := c.followOnce(ctx, namespace, name, func(a *Application) {
			heard, pause = time.Now(), 100*time.Millisecond
			tell(a)
		})
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil && time.Since(began) > time.Second:
			continue
		case err == nil: // a watch that ends at once is not asked for without end
		case !kubeclient.Transient(err) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
			return err
		case time.Since(heard) > patience:
			return err
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 2*time.Second)
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Client) followOnce(ctx context.Context, namespace, name string, tell func(*Application)) error {
	if err := checkNames(namespace, name); err != nil {
		return err
	}
	a, err := c.Application(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		tell(nil)
		select {
		case <-time.After(time.Second):
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	if err != nil {
		return err
	}
	tell(a)
	return c.watch(ctx, a, tell)
}

// watch tells of changes of an Application from the version on that was read.
// nil is the end of the watch that was asked for.
func (c *Client) watch(ctx context.Context, a *Application, tell func(*Application)) error {
	ctx, cancel := context.WithTimeout(ctx, watchFor+2*time.Second)
	defer cancel()
	body, err := c.rest.Get().Namespace(a.Metadata.Namespace).Resource("applications").
		Param("watch", "true").Param("fieldSelector", "metadata.name="+a.Metadata.Name).
		Param("resourceVersion", a.Metadata.ResourceVersion).
		Param("timeoutSeconds", fmt.Sprint(int(watchFor/time.Second))).MaxRetries(0).Stream(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer body.Close()
	dec := json.NewDecoder(bufio.NewReader(body))
	for {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := dec.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		switch e.Type {
		case "ERROR":
			return nil // the version is too old, or the server ends: read again
		case "DELETED":
			tell(nil)
			return nil
		case "BOOKMARK":
			continue
		}
		changed, err := ParseApplication(e.Object)
		if err != nil {
			return err
		}
		tell(changed)
	}
}
