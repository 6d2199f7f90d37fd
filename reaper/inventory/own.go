package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

var (
	// ErrOwner is returned for an owner that cannot be written.
	ErrOwner = errors.New("not an owner")
	// ErrOwned is returned where somebody else is the owner.
	ErrOwned = errors.New("it has an owner")
)

// maxOwner is how many bytes an owner may have.
const maxOwner = 253

// OwnRequest says whose an object is.
type OwnRequest struct {
	// Resource is the object's, in a version that is served.
	Resource schema.GroupVersionResource
	// Namespace is empty for what has none.
	Namespace, Name string
	// Owner is whom to ask about it: a person, a team or an address, in one line of
	// printable characters.
	Owner string
	// Overwrite takes it from whoever owns it.
	Overwrite bool
	// DryRun has the server check all of it and keep nothing.
	DryRun bool
}

// Own sets the annotation pharos.dev/owner. It returns the owner from before, empty if
// there was none; if that is the same one, nothing is written. What is written is only
// written to the object that was read, as it was read.
//
// The error matches ErrOwner if the owner is not valid, and ErrOwned if there is
// another one and Overwrite is not set. Otherwise it is the API server's. It needs the
// rights to get and patch the object.
func (i *Inventory) Own(ctx context.Context, r OwnRequest) (before string, err error) {
	if err := checkOwner(r.Owner); err != nil {
		return "", err
	}
	of := fmt.Sprintf("set the owner of %s/%s", r.Resource.GroupResource(), r.Name)
	if r.Namespace != "" {
		of += " in namespace " + r.Namespace
	}
	resource := kubeclient.Resource{Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource, Namespaced: r.Namespace != ""}
	const attempts = 5
	for n := 1; ; n++ {
		o, err := i.get(ctx, resource, r.Namespace, r.Name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", of, err)
		}
		switch before = o.Annotations[keys.Owner]; {
		case before == r.Owner:
			return before, nil
		case before != "" && !r.Overwrite:
			return before, fmt.Errorf("%s: %w: %q", of, ErrOwned, before)
		}
		err = i.annotate(ctx, resource, r, o.UID, o.ResourceVersion)
		if err == nil {
			return before, nil
		}
		if !apierrors.IsConflict(err) || n == attempts {
			return before, fmt.Errorf("%s: %w", of, err)
		}
	}
}

// annotate writes to the object of that UID and version and to no other.
func (i *Inventory) annotate(ctx context.Context, resource kubeclient.Resource, r OwnRequest, uid, version string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": uid, "resourceVersion": version, "annotations": map[string]string{keys.Owner: r.Owner},
	}})
	if err != nil {
		return err
	}
	req := i.client.Patch(types.MergePatchType).AbsPath(pathOf(resource, r.Namespace, r.Name)).
		SetHeader("Accept", kubeclient.MetadataOnly).Param("fieldManager", keys.Manager).Body(patch)
	if r.DryRun {
		req.Param("dryRun", metav1.DryRunAll)
	}
	return req.MaxRetries(0).Do(ctx).Error()
}

func checkOwner(owner string) error {
	switch {
	case strings.TrimSpace(owner) == "":
		return fmt.Errorf("%w: it is empty", ErrOwner)
	case strings.TrimSpace(owner) != owner:
		return fmt.Errorf("%w: %q begins or ends with a blank", ErrOwner, owner)
	case len(owner) > maxOwner:
		return fmt.Errorf("%w: it has %d bytes, and may have %d", ErrOwner, len(owner), maxOwner)
	case !utf8.ValidString(owner) || strings.ContainsFunc(owner, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%w: %q has a character that cannot be printed", ErrOwner, owner)
	}
	return nil
}
