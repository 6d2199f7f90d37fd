package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/policy"
)

type policyOptions struct {
	*shared
	output      *output
	tier        reaper.Tier
	maxTTL      duration
	cpu, memory string
	namespaces  []string
	resources   []string
	check       bool
}

func newPolicy(s *shared) *cobra.Command {
	o := &policyOptions{shared: s, maxTTL: duration(24 * time.Hour)}
	cmd := &cobra.Command{
		Use:   "policy TIER",
		Short: "Print what has the cluster hold people to intents and to the limits of a tier",
		Long: `Print what has the cluster hold people to intents and to the limits of a tier, without
any webhook: a ValidatingAdmissionPolicy with its binding, and a ResourceQuota for each
namespace. It changes nothing, and asks nothing of the cluster, unless with --check.

Whoever creates one of the resources in the namespaces has to say that it is
transient, whose it is, and until when, in the grammar of intents and within the
tier. Updates of an intent are held to the same. What has an owner, such as a
Deployment's pods, is left alone. Without --namespace it is for all namespaces with
the label ` + keys.Tier + `=TIER, and there are no quotas.

With --check it tells instead which existing objects would have been refused, and which
limits of the quotas are exceeded or leave no room. The exit code is 1 if something that
is there would have been refused, or could not be looked at.`,
		Example: `  # What would it refuse of what is there?
  kubectl pharos policy agents --namespace sandboxes --max-ttl 24h --check

  kubectl pharos policy agents --namespace sandboxes --max-ttl 24h --max-objects 20 \
    --cpu 8 --memory 16Gi | kubectl apply -f -

  # For all namespaces that say that they are of the tier
  kubectl pharos policy agents --resources pods,jobs.batch | kubectl apply -f -
  kubectl label namespace sandboxes ` + keys.Tier + `=agents`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.tier.Name = args[0]
			return o.run(cmd.Context())
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.Var(&o.maxTTL, "max-ttl", "How long something may be there after its last activity, with its grace")
	f.Int64Var(&o.tier.MaxObjects, "max-objects", 50, "How many objects of each resource a namespace may have at once")
	f.StringVar(&o.cpu, "cpu", "", "The sum of CPU requests of a namespace, such as 8 or 500m. The default is no limit")
	f.StringVar(&o.memory, "memory", "", "The sum of memory requests of a namespace, such as 16Gi. The default is no limit")
	f.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "The namespaces. The default is those with the tier's label")
	f.StringSliceVar(&o.resources, "resources", policy.DefaultResources, "What is held to intents, such as pods or deployments.apps")
	f.BoolVar(&o.check, "check", false, "Tell which existing objects would have been refused, and which quotas leave no room")
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("resources", cobra.FixedCompletions(policy.DefaultResources, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *policyOptions) run(ctx context.Context) error {
	o.tier.MaxTTL, o.tier.CreatesPerHour = time.Duration(o.maxTTL), reaper.Unlimited
	var errs [2]error
	o.tier.CPU, errs[0] = limit("cpu", o.cpu, (*resource.Quantity).MilliValue)
	o.tier.Memory, errs[1] = limit("memory", o.memory, (*resource.Quantity).Value)
	c := policy.Config{Tier: o.tier, Namespaces: o.namespaces, Resources: o.resources}
	objects, err := policy.Objects(c)
	if err := usage(o.output.check(), errs[0], errs[1], err); err != nil {
		return err
	}
	if o.check {
		return o.review(ctx, c)
	}
	return o.printPolicy(objects)
}

// limit reads a quantity of a flag.
func limit(flag, value string, of func(*resource.Quantity) int64) (int64, error) {
	if value == "" {
		return reaper.Unlimited, nil
	}
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() < 0 {
		return 0, fmt.Errorf("--%s is %q, and has to be a quantity such as 8, 500m or 16Gi", flag, value)
	}
	return of(&q), nil
}

// printPolicy prints objects as documents of YAML, or as a list for programs.
func (o *policyOptions) printPolicy(objects []runtime.Object) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, obj := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return err
		}
		delete(fields, "status") // which no one says
		unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
		list.Items = append(list.Items, unstructured.Unstructured{Object: fields})
	}
	if !o.output.human() {
		return o.output.printObject(o.Out, list)
	}
	for i, item := range list.Items {
		text, err := yaml.Marshal(item.Object)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := o.Out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// review reports what of what is there would have been refused.
func (o *policyOptions) review(ctx context.Context, c policy.Config) error {
	config, err := o.cluster(ctx)
	if err != nil {
		return err
	}
	if err := o.wantNamespaces(ctx, config, o.namespaces); err != nil {
		return err
	}
	r, err := policy.Review(ctx, config, c)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	if o.output.human() {
		o.printReview(r)
	} else {
		obj, err := newObject("PolicyReview", c.Tier.Name, r)
		if err != nil {
			return err
		}
		if err := o.output.print(o.Out, obj); err != nil {
			return err
		}
	}
	if len(r.Findings)+len(r.Gaps) > 0 || slices.ContainsFunc(r.Quotas, policy.Quota.Refuses) {
		return errNotSo
	}
	return nil
}

func (o *policyOptions) printReview(r policy.Report) {
	for _, f := range r.Findings {
		reasons := make([]string, len(f.Refusals))
		for i, refusal := range f.Refusals {
			reasons[i] = refusal.String()
		}
		linef(o.Out, "%s would have been refused: %s", oneLine(reaper.Object{Kind: f.Kind, Namespace: f.Namespace, Name: f.Name}.String()), strings.Join(reasons, "; "))
	}
	for _, q := range r.Quotas {
		if q.Full() || q.Refuses() {
			linef(o.Out, "%s", q)
		}
	}
	for _, g := range r.Gaps {
		where := g.Resource
		if g.Namespace != "" {
			where += " in " + g.Namespace
		}
		linef(o.ErrOut, "not looked at: %s: %s", where, g.Reason)
	}
	linef(o.ErrOut, "%d of %d objects would have been refused", len(r.Findings), r.Looked)
}
