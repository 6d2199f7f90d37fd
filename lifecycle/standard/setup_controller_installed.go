package standard

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
)

// installedController returns what finds the image of the controller that a target has.
// Who may not read its Deployment is not told, and delivers without it: a takeover that
// a controller has no rights to put back is refused by itself.
func installedController(config *rest.Config) (func(context.Context, lifecycle.PrepareRequest) (string, error), error) {
	client, err := kubeclient.New(config, appsv1.SchemeGroupVersion, appsv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r lifecycle.PrepareRequest) (string, error) {
		var d appsv1.Deployment
		err := kubeclient.Retry(ctx, func() error {
			return client.Get().Namespace(r.Namespace).Resource("deployments").Name(controllerOf(r.Target)).MaxRetries(0).Do(ctx).Into(&d)
		})
		switch {
		case kubeclient.NotFound(err), apierrors.IsForbidden(err):
			return "", nil
		case err != nil:
			return "", &lifecycle.Error{Op: "look for", On: "the controller of target " + r.Target, Err: err}
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == controllerContainer {
				return c.Image, nil
			}
		}
		return "", nil
	}, nil
}
