package standard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// checkpointFile is the key of the ConfigMap that holds the checkpoint as JSON.
const checkpointFile = "checkpoint.json"

// Checkpoints keeps a target's checkpoint on the target: in the ConfigMap
// pharos-TARGET.deploy of its namespace, as JSON under checkpoint.json. It uses
// get, create and patch. It is safe for concurrent use.
type Checkpoints struct {
	client            *rest.RESTClient
	namespace, target string
}

var _ lifecycle.Checkpoints = (*Checkpoints)(nil)

// NewCheckpoints returns the checkpoints of a target. It makes no call.
func NewCheckpoints(config *rest.Config, namespace, target string) (*Checkpoints, error) {
	client, err := kubeclient.New(config, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return &Checkpoints{client: client, namespace: namespace, target: target}, nil
}

func (c *Checkpoints) name() string { return keys.Manager + "-" + c.target + ".deploy" }

// Checkpoint implements lifecycle.Checkpoints with one request.
func (c *Checkpoints) Checkpoint(ctx context.Context) (lifecycle.Checkpoint, error) {
	m := &corev1.ConfigMap{}
	err := kubeclient.Retry(ctx, func() error {
		return c.client.Get().Namespace(c.namespace).Resource("configmaps").Name(c.name()).MaxRetries(0).Do(ctx).Into(m)
	})
	if apierrors.IsNotFound(err) {
		return lifecycle.Checkpoint{}, nil
	}
	if err != nil {
		return lifecycle.Checkpoint{}, c.explain("read", err)
	}
	var at lifecycle.Checkpoint
	err = json.Unmarshal([]byte(m.Data[checkpointFile]), &at)
	switch {
	case err != nil:
	case at.APIVersion != lifecycle.CheckpointAPIVersion || at.Kind != lifecycle.CheckpointKind:
		err = fmt.Errorf("it is %s %s, and not %s %s", at.APIVersion, at.Kind, lifecycle.CheckpointAPIVersion, lifecycle.CheckpointKind)
	case at.Target.Name != c.target:
		err = fmt.Errorf("it is of target %q", at.Target.Name)
	}
	if err != nil {
		return lifecycle.Checkpoint{Version: m.ResourceVersion}, fmt.Errorf("ConfigMap %s/%s: %w: %w", c.namespace, c.name(), lifecycle.ErrCheckpoint, err)
	}
	at.Version = m.ResourceVersion
	return at, nil
}

// SetCheckpoint implements lifecycle.Checkpoints with one request. A write whose
// answer was lost is recognised by its content.
func (c *Checkpoints) SetCheckpoint(ctx context.Context, old, new lifecycle.Checkpoint) (lifecycle.Checkpoint, error) {
	data, err := json.MarshalIndent(new, "", "  ")
	if err != nil {
		return old, fmt.Errorf("record the checkpoint: %w", err)
	}
	content := map[string]string{checkpointFile: string(data)}
	m, unclear := &corev1.ConfigMap{}, false
	err = kubeclient.Retry(ctx, func() error {
		err := c.put(ctx, old.Version, content, m)
		unclear = unclear || err != nil && !kubeclient.Refused(err)
		return err
	})
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		if now, getErr := c.Checkpoint(ctx); getErr == nil && unclear {
			if written, _ := json.MarshalIndent(now, "", "  "); string(written) == string(data) {
				return now, nil
			}
		}
		return old, fmt.Errorf("somebody else wrote ConfigMap %s/%s: %w", c.namespace, c.name(), errors.Join(receipt.ErrConflict, err))
	}
	if err != nil {
		return old, c.explain("write", err)
	}
	new.Version = m.ResourceVersion
	return new, nil
}

func (c *Checkpoints) put(ctx context.Context, version string, content map[string]string, into *corev1.ConfigMap) error {
	if version == "" {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.name(), Labels: map[string]string{keys.ManagedBy: keys.Manager}}, Data: content}
		return c.client.Post().Namespace(c.namespace).Resource("configmaps").Body(m).MaxRetries(0).Do(ctx).Into(into)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "data": content})
	if err != nil {
		return err
	}
	return c.client.Patch(types.MergePatchType).Namespace(c.namespace).Resource("configmaps").Name(c.name()).Body(patch).MaxRetries(0).Do(ctx).Into(into)
}

func (c *Checkpoints) explain(op string, err error) error {
	e := &lifecycle.Error{Op: op, On: "ConfigMap " + c.namespace + "/" + c.name(), Err: err}
	if kubeclient.Unavailable(err) {
		e.Class = lifecycle.ErrUnreachable
	}
	if apierrors.IsForbidden(err) {
		e.Advice = "What is needed is to get, create and patch configmaps in " + c.namespace + ": " + kubeclient.RightsPage
	}
	return e
}
