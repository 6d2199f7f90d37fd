package controller

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// MayPutBack returns what Config.Covers is for the leader that ends takeovers: those of
// the namespaces in which it may get and patch Deployments, sorted. A takeover anywhere
// else is refused, since nobody would put it back. It asks the API server (self subject
// access reviews), which lets everybody do so. It makes no call itself.
func MayPutBack(config *rest.Config, namespaces []string) (func(context.Context) ([]string, error), error) {
	client, err := kubeclient.New(config, authorizationv1.SchemeGroupVersion, authorizationv1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	namespaces = slices.Compact(slices.Sorted(slices.Values(namespaces)))
	may := func(ctx context.Context, namespace, verb string) (bool, error) {
		var answer authorizationv1.SelfSubjectAccessReview
		asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: "apps", Resource: "deployments"}}}
		err := kubeclient.Retry(ctx, func() error {
			return client.Post().Resource("selfsubjectaccessreviews").Body(asked).MaxRetries(0).Do(ctx).Into(&answer)
		})
		if err != nil {
			return false, fmt.Errorf("ask whether it may %s deployments in namespace %s: %w", verb, namespace, err)
		}
		return answer.Status.Allowed, nil
	}
	return func(ctx context.Context) ([]string, error) {
		var names []string
		for _, ns := range namespaces {
			all := true
			for _, verb := range []string{"get", "patch"} {
				allowed, err := may(ctx, ns, verb)
				if err != nil {
					return nil, err
				}
				all = all && allowed
			}
			if all {
				names = append(names, ns)
			}
		}
		return names, nil
	}, nil
}

// covers is what the leader's lease is to say that it covers.
func (c *Controller) covers(ctx context.Context) ([]string, error) {
	if c.config.Covers == nil {
		return nil, nil
	}
	return c.config.Covers(ctx)
}

// otherwise looks again and again whether the leader's lease is still to say the same,
// and tells when it is not.
func (c *Controller) otherwise(ctx context.Context, covers []string) <-chan struct{} {
	told := make(chan struct{})
	if c.config.Covers == nil {
		return told
	}
	go func() {
		for {
			wait(ctx, c.config.Look)
			now, err := c.covers(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && !slices.Equal(now, covers):
				close(told)
				return
			}
		}
	}()
	return told
}
