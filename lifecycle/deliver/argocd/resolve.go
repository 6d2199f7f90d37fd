package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Resolve returns the objects as the cluster names them, as Config.Objects does.
// A namespaced object without a namespace gets that of the destination of the
// Application that brings it. Of an Application of the layout it is not known
// before it is read, so its overlay has to say the namespace; the error then
// matches lifecycle.ErrSource.
func (d *Deliverer) Resolve(ctx context.Context, objects []lifecycle.Object) ([]receipt.Object, error) {
	asked := slices.Clone(objects)
	unnamed := make([]bool, len(objects))
	for i, o := range objects {
		var head struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(o.JSON, &head); err != nil {
			return nil, &lifecycle.Error{Op: "resolve", On: objectName(o), Class: lifecycle.ErrSource, Err: err}
		}
		if head.Metadata.Namespace == "" {
			unnamed[i], asked[i].Namespace = true, ""
		}
	}
	resolved, err := d.objects.Resolve(ctx, asked)
	if err != nil {
		return nil, d.withoutArgoCD(ctx, asked, err)
	}
	var errs []error
	for i := range resolved {
		o := &resolved[i]
		if !unnamed[i] || o.Namespace == "" {
			continue
		}
		o.Namespace = objects[i].Namespace
		if o.Namespace == "" {
			errs = append(errs, fmt.Errorf("%s has no namespace", lifecycle.ObjectName(*o)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &lifecycle.Error{Op: "resolve", On: "the objects", Class: lifecycle.ErrSource, Err: err,
			Advice: "Set it in the overlay: namespace: NAME in its kustomization.yaml."}
	}
	return resolved, nil
}

// withoutArgoCD tells of a cluster that does not know the Applications of the
// layout that Argo CD is missing there, and not something in the commit.
func (d *Deliverer) withoutArgoCD(ctx context.Context, objects []lifecycle.Object, err error) error {
	if !errors.Is(err, lifecycle.ErrSource) {
		return err
	}
	i := slices.IndexFunc(objects, func(o lifecycle.Object) bool {
		return isApplication(o.Group, o.Kind) && d.layout.direct(o.Namespace, o.Name)
	})
	if i < 0 {
		return err
	}
	if _, alone := d.objects.Resolve(ctx, objects[i:i+1]); !errors.Is(alone, lifecycle.ErrSource) {
		return err
	}
	return &lifecycle.Error{Op: "find", On: "Argo CD", Class: lifecycle.ErrUnreachable, Err: errors.New("the cluster does not know its kind " + argo.KindApplication),
		Advice: "Install Argo CD 3.0 or newer there, or choose its cluster with spec.context."}
}
