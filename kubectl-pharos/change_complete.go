package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/policy"
)

// complete offers kinds first, and then what of one is transient and not named yet. A
// cluster that does not answer is not waited for: somebody is typing.
func (o *changeOptions) complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	kind, _, named := strings.Cut(typed, "/")
	if !named {
		var kinds []string
		for _, r := range append([]string{"namespaces"}, policy.DefaultResources...) {
			kinds = append(kinds, r+"/")
		}
		return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	names, err := o.transient(ctx, kind)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(args, n) }), cobra.ShellCompDirectiveNoFileComp
}

// transient are the objects of a kind that say that they end, as KIND/NAME.
func (o *changeOptions) transient(ctx context.Context, kind string) ([]string, error) {
	config, err := o.cluster(ctx)
	if err != nil {
		return nil, err
	}
	config.Timeout = 2 * time.Second
	namespace, err := o.namespaceOf(*o.namespace)
	if err != nil {
		return nil, err
	}
	refs, err := o.refs([]string{kind + "/x"}, namespace)
	if err != nil {
		return nil, err
	}
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := c.Resource(schema.GroupVersionResource{Group: refs[0].Group, Version: refs[0].Version, Resource: refs[0].Resource}).Namespace(refs[0].Namespace).List(ctx, metav1.ListOptions{LabelSelector: keys.Intent + "=" + string(reaper.Transient), Limit: 200})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list.Items {
		names = append(names, kind+"/"+m.Name)
	}
	return names, nil
}
