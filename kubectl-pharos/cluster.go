package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/reaper"
)

// cluster connects to the cluster of the context of the flag, else of the target of
// the repository, else of the current context: what it is for needs no repository.
func (s *shared) cluster(ctx context.Context) (*rest.Config, error) {
	var t standard.Target
	if *s.config.Context == "" || s.target != "" {
		var err error
		if t, err = s.targetHere(ctx); err != nil {
			return nil, err
		}
	}
	return s.restConfig(t)
}

// targetHere is the target of HEAD, or none where there is no repository, or nothing in
// it that has targets, and none was named.
func (s *shared) targetHere(ctx context.Context) (standard.Target, error) {
	_, commit, err := s.commit(ctx, "")
	if s.target == "" && s.repo == "." && (errors.Is(err, source.ErrNoRepository) || errors.Is(err, source.ErrUnborn)) {
		return standard.Target{}, nil
	}
	if err != nil {
		return standard.Target{}, err
	}
	_, err = commit.Tree.ReadFile(ctx, catalogue.FileName)
	if s.target == "" && errors.Is(err, source.ErrNotFound) {
		return standard.Target{}, nil
	}
	t, err := s.targetAt(ctx, commit)
	if s.target == "" && errors.Is(err, standard.ErrNoTarget) {
		return standard.Target{}, nil
	}
	return t, err
}

// namespaceFlag adds kubectl's --namespace, which most commands have not: the target's
// document says it there.
func (s *shared) namespaceFlag(cmd *cobra.Command) *string {
	namespace := cmd.Flags().StringP("namespace", "n", "", "The namespace. The default is the context's")
	return namespace
}

// namespaceOf is the namespace of the flag, else the context's.
func (s *shared) namespaceOf(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	namespace, _, err := s.config.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// named connects to the cluster, and finds there what arguments KIND/NAME name, in the
// namespace of the flag.
func (s *shared) named(ctx context.Context, args []string, flag string) (*rest.Config, []reaper.Ref, error) {
	if err := checkRefs(args); err != nil {
		return nil, nil, err
	}
	config, err := s.cluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	namespace, err := s.namespaceOf(flag)
	if err != nil {
		return nil, nil, err
	}
	refs, err := s.refs(args, namespace)
	return config, refs, err
}

// checkRefs refuses arguments that are not KIND/NAME.
func checkRefs(args []string) error {
	var wrong []error
	for _, arg := range args {
		if kind, name, ok := strings.Cut(arg, "/"); !ok || kind == "" || name == "" || strings.Contains(name, "/") {
			wrong = append(wrong, fmt.Errorf("%q is not KIND/NAME, such as namespace/preview or deployments.apps/api", arg))
		}
	}
	return usage(wrong...)
}

// refs reads arguments KIND/NAME as kubectl does: the kind is a resource, its singular
// or short name, or a kind, and may have version and group behind dots.
func (s *shared) refs(args []string, namespace string) ([]reaper.Ref, error) {
	mapper, err := s.config.ToRESTMapper()
	if err != nil {
		return nil, lifecycle.TargetError(err)
	}
	var refs []reaper.Ref
	var errs []error
	for _, arg := range args {
		kind, name, _ := strings.Cut(arg, "/")
		m, err := mappingOf(mapper, kind)
		if err != nil {
			errs = append(errs, lifecycle.TargetError(err))
			continue
		}
		r := reaper.Ref{Group: m.Resource.Group, Version: m.Resource.Version, Resource: m.Resource.Resource, Kind: m.GroupVersionKind.Kind, Name: name}
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			r.Namespace = namespace
		}
		refs = append(refs, r)
	}
	return refs, errors.Join(errs...)
}

// mappingOf finds what the server serves a kind as.
func mappingOf(mapper meta.RESTMapper, kind string) (*meta.RESTMapping, error) {
	versioned, resource := schema.ParseResourceArg(kind)
	var gvk schema.GroupVersionKind
	if versioned != nil {
		gvk, _ = mapper.KindFor(*versioned)
	}
	if gvk.Empty() {
		var err error
		if gvk, err = mapper.KindFor(resource.WithVersion("")); err != nil && !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	if !gvk.Empty() {
		return mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	full, groupKind := schema.ParseKindArg(kind)
	if full != nil {
		if m, err := mapper.RESTMapping(full.GroupKind(), full.Version); err == nil {
			return m, nil
		}
	}
	m, err := mapper.RESTMapping(groupKind)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the server has no kind %q. See what it has: kubectl api-resources", kind)
	}
	return m, err
}
