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
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

var (
	// ErrOwner is returned for an owner that cannot be written.
	ErrOwner = errors.New("not an owner")
	// ErrOwned is returned where somebody else is the owner.
	ErrOwned = errors.New("it has an owner")
)

// maxOwner is how many bytes an owner may have.
const maxOwner = 253

// Ownership is how an owner is set.
type Ownership struct {
	// Overwrite takes the object from whoever owns it.
	Overwrite bool
	// DryRun has the server check the change, and not make it.
	DryRun bool
}

// Own sets the annotation pharos.dev/owner of an object to whom to ask about it: a
// person, a team or an address, in one line of printable characters. It returns the
// owner from before, empty if there was none; if that is the same one, nothing is
// written. What is written is only written to the object that was read, as it was read;
// if the Ref has a UID, to no other one.
//
// The error matches ErrOwner if the owner is not valid, ErrOwned if there is another
// one and Overwrite is not set, and reaper.ErrGone if there is no such object or it has
// another UID. Otherwise it is the API server's. It needs the rights to get and patch
// the object.
func (i *Inventory) Own(ctx context.Context, r reaper.Ref, owner string, how Ownership) (before string, err error) {
	before, err = i.own(ctx, r, owner, how)
	if err == nil {
		return before, nil
	}
	e := &reaper.Error{Op: "set the owner of", Object: r.String(), Err: err}
	switch {
	case kubeclient.NotFound(err):
		e.Err = fmt.Errorf("%w: %w", reaper.ErrGone, err)
	case errors.Is(err, ErrOwned):
		e.Advice = "Ask there first."
	case apierrors.IsForbidden(err):
		e.Advice = "The rights to get and patch it are needed."
	}
	return before, e
}

func (i *Inventory) own(ctx context.Context, r reaper.Ref, owner string, how Ownership) (before string, err error) {
	if err := checkOwner(owner); err != nil {
		return "", err
	}
	resource := kubeclient.Resource{Group: r.Group, Version: r.Version, Resource: r.Resource, Kind: r.Kind, Namespaced: r.Namespace != ""}
	const attempts = 5
	for n := 1; ; n++ {
		o, err := i.get(ctx, resource, r.Namespace, r.Name)
		if err != nil {
			return "", err
		}
		if r.UID != "" && r.UID != o.UID {
			return "", fmt.Errorf("%w: another one, with the UID %s, has its name", reaper.ErrGone, o.UID)
		}
		switch before = o.Annotations[keys.Owner]; {
		case before == owner:
			return before, nil
		case before != "" && !how.Overwrite:
			return before, fmt.Errorf("%w: %q", ErrOwned, before)
		}
		err = i.annotate(ctx, resource, o, owner, how.DryRun)
		if !apierrors.IsConflict(err) || n == attempts {
			return before, err
		}
	}
}

// annotate writes to the object of that UID and version and to no other.
func (i *Inventory) annotate(ctx context.Context, resource kubeclient.Resource, o reaper.Object, owner string, dryRun bool) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.UID, "resourceVersion": o.ResourceVersion, "annotations": map[string]string{keys.Owner: owner},
	}})
	if err != nil {
		return err
	}
	at, err := pathOf(resource, o.Namespace, o.Name)
	if err != nil {
		return err
	}
	req := i.client.Patch(types.MergePatchType).AbsPath(at).
		SetHeader("Accept", kubeclient.MetadataOnly).Param("fieldManager", keys.Manager).Body(patch)
	if dryRun {
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
