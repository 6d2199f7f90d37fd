package environment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/catalogue"
)

type runFiles = catalogue.RunFiles

// projection adds the files of a volume to a set, as the kubelet would write them.
type projection struct {
	container *container
	set       *fileSet
	// place returns where a file of the volume is in the container, and whether it is
	// wanted.
	place func(inVolume string) (string, bool)
}

// volume adds the files of a volume.
func (p *projection) volume(ctx context.Context, v corev1.VolumeSource) error {
	switch {
	case v.ConfigMap != nil:
		return p.configMap(ctx, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional, v.ConfigMap.DefaultMode)
	case v.Secret != nil:
		return p.secret(ctx, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional, v.Secret.DefaultMode)
	case v.DownwardAPI != nil:
		return p.downward(ctx, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		var errs []error
		for _, s := range v.Projected.Sources {
			errs = append(errs, p.source(ctx, s, v.Projected.DefaultMode))
		}
		return errors.Join(errs...)
	}
	return errors.New("are on a volume that is neither a ConfigMap, a Secret, the downward API nor projected: what it holds is not brought to this machine")
}

// source adds the files of one source of a projected volume: a later one replaces
// those of an earlier one.
func (p *projection) source(ctx context.Context, s corev1.VolumeProjection, mode *int32) error {
	switch {
	case s.ConfigMap != nil:
		return p.configMap(ctx, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional, mode)
	case s.Secret != nil:
		return p.secret(ctx, s.Secret.Name, s.Secret.Items, s.Secret.Optional, mode)
	case s.DownwardAPI != nil:
		return p.downward(ctx, s.DownwardAPI.Items, mode)
	case s.ServiceAccountToken != nil:
		return p.token(s.ServiceAccountToken)
	}
	return errors.New("are projected from a source that is not supported: trust bundles and certificates of pods are not brought to this machine")
}

func (p *projection) configMap(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool, mode *int32) error {
	if !p.wantsOne(items) {
		return nil
	}
	object, err := p.container.sources.configMap(ctx, p.container.Namespace, name)
	if err != nil {
		return err
	}
	if object == nil {
		return required("ConfigMap", named(p.container.Namespace, name), optional)
	}
	data := maps.Clone(object.Data)
	if data == nil {
		data = map[string]string{}
	}
	for key, bytes := range object.BinaryData {
		data[key] = string(bytes)
	}
	return p.keys("ConfigMap", name, data, items, optional, mode)
}

func (p *projection) secret(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool, mode *int32) error {
	if !p.wantsOne(items) {
		return nil
	}
	object, err := p.container.sources.secret(ctx, p.container.Namespace, name)
	if err != nil {
		return err
	}
	if object == nil {
		return required("Secret", named(p.container.Namespace, name), optional)
	}
	data := map[string]string{}
	for key, bytes := range object.Data {
		data[key] = string(bytes)
	}
	return p.keys("Secret", name, data, items, optional, mode)
}

// wantsOne says whether one of the keys is wanted, as far as they are known.
func (p *projection) wantsOne(items []corev1.KeyToPath) bool {
	return len(items) == 0 || slices.ContainsFunc(items, func(item corev1.KeyToPath) bool { _, wanted := p.place(item.Path); return wanted })
}

// keys adds the keys of an object: those that items name, or all.
func (p *projection) keys(kind, name string, data map[string]string, items []corev1.KeyToPath, optional *bool, mode *int32) error {
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		at, wanted := p.place(item.Path)
		if !wanted {
			continue
		}
		text, ok := data[item.Key]
		if !ok && optional != nil && *optional {
			continue
		}
		if !ok {
			return fmt.Errorf("%s %s has no key %s", kind, named(p.container.Namespace, name), item.Key)
		}
		own := mode
		if item.Mode != nil {
			own = item.Mode
		}
		if err := p.add(item.Path, File{Path: at, From: keyOf(kind, p.container.Namespace, name, item.Key), Secret: kind == "Secret", Mode: ownerMode(own), data: hide(text)}); err != nil {
			return err
		}
	}
	return nil
}

func (p *projection) downward(ctx context.Context, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, item := range items {
		at, wanted := p.place(item.Path)
		if !wanted {
			continue
		}
		var text, from string
		var err error
		switch {
		case item.FieldRef != nil:
			from = "the pod's " + item.FieldRef.FieldPath
			text, err = field(item.FieldRef.FieldPath, &p.container.Pod, p.container.Namespace, p.container.Live)
		case item.ResourceFieldRef != nil:
			from = "the container's " + item.ResourceFieldRef.Resource
			text, err = p.container.resource(ctx, item.ResourceFieldRef)
		}
		if err != nil {
			return err
		}
		own := mode
		if item.Mode != nil {
			own = item.Mode
		}
		if err := p.add(item.Path, File{Path: at, From: from, Mode: ownerMode(own), data: hide(text)}); err != nil {
			return err
		}
	}
	return nil
}

func (p *projection) token(t *corev1.ServiceAccountTokenProjection) error {
	at, wanted := p.place(t.Path)
	if !wanted {
		return nil
	}
	if !filepath.IsLocal(t.Path) {
		return fmt.Errorf("have a path that leaves the volume: %q", t.Path)
	}
	c := p.container
	p.set.tokens = append(p.set.tokens, tokenFile{path: at, namespace: c.Namespace, serviceAccount: serviceAccount(&c.Pod.Spec), audience: t.Audience})
	return nil
}

// add adds a file in the place of one that is there.
func (p *projection) add(inVolume string, f File) error {
	if !filepath.IsLocal(inVolume) {
		return fmt.Errorf("have a path that leaves the volume: %q", inVolume)
	}
	p.set.files = slices.DeleteFunc(p.set.files, func(o File) bool { return o.Path == f.Path })
	p.set.files = append(p.set.files, f)
	return nil
}

// ownerMode are the permissions of a file for the user alone: those of a volume let
// others read it, who are in the container.
func ownerMode(mode *int32) fs.FileMode {
	const readable, executable = 0o600, 0o100
	if mode == nil {
		return readable
	}
	return readable | fs.FileMode(*mode)&executable
}
