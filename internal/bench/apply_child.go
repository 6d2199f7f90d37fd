package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/receipt"
)

// atOnce is how many requests the bare loop has in flight: as many as the
// Deliverer by default.
const atOnce = 16

// known is what a receipt and its outcome keep of a delivery.
type known struct {
	Applied []receipt.Object
	Seen    []receipt.Seen
}

// applyFile delivers the objects of a file. A file for what is known, unless its
// name is empty, stands for the receipts.
func applyFile(ctx context.Context, kubeconfig, file, namespace, state string, stdout io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	objects, err := readObjects(file)
	if err != nil {
		return err
	}
	d, err := apply.New(apply.Config{RESTConfig: config, DefaultNamespace: namespace})
	if err != nil {
		return err
	}
	resolved, err := d.Resolve(ctx, objects)
	if err != nil {
		return err
	}
	k, err := readKnown(state)
	if err != nil {
		return err
	}
	res, err := d.Deliver(ctx, lifecycle.DeliverRequest{
		Objects: objects, Resolved: resolved, Target: targetName, Applied: k.Applied, Seen: k.Seen,
		Guard: func(context.Context) error { return nil },
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, len(res.Changes))
	if state == "" {
		return nil
	}
	b, err := json.Marshal(known{resolved, res.Seen})
	if err != nil {
		return err
	}
	return os.WriteFile(state, b, 0o600)
}

func readKnown(state string) (k known, err error) {
	if state == "" {
		return k, nil
	}
	b, err := os.ReadFile(state)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(b, &k)
}

func readObjects(file string) ([]lifecycle.Object, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []lifecycle.Object
	for doc := range strings.SplitSeq(string(content), "---\n") {
		raw, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			return nil, err
		}
		canonical := jsontext.Value(raw)
		if err := canonical.Canonicalize(); err != nil {
			return nil, err
		}
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON(canonical); err != nil {
			return nil, err
		}
		gvk := u.GroupVersionKind()
		objects = append(objects, lifecycle.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: u.GetName(), JSON: canonical})
	}
	return objects, nil
}

// applyBare sends the same requests as a delivery, and nothing else.
func applyBare(ctx context.Context, kubeconfig, file, namespace string, stdout io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	objects, err := readObjects(file)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, o := range objects {
		g.Go(func() error { return sendBare(ctx, client, config.Host, namespace, o) })
	}
	fmt.Fprintln(stdout, len(objects))
	return g.Wait()
}

func sendBare(ctx context.Context, client *http.Client, host, namespace string, o lifecycle.Object) error {
	root := "/api/" + o.Version
	if o.Group != "" {
		root = "/apis/" + o.Group + "/" + o.Version
	}
	address := host + root + "/namespaces/" + namespace + "/" + strings.ToLower(o.Kind) + "s/" + o.Name + "?fieldManager=bare"
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, address, bytes.NewReader(o.JSON))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/apply-patch+yaml")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", address, resp.Status)
	}
	return nil
}
