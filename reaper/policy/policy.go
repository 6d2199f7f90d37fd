package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// Config says what is held to intents, where, and within which limits.
type Config struct {
	Tier reaper.Tier
	// Namespaces are those that the policy is bound to, and that get a quota. None are
	// all those with the label pharos.dev/tier and the tier's name; they get no quota.
	Namespaces []string
	// Resources are as kubectl names them, such as "pods" and "deployments.apps". At
	// least one is needed.
	Resources []string
}

// ErrConfig is matched by the error of a Config that is none.
var ErrConfig = errors.New("no policy can be made of this")

// DefaultResources are what people make sandboxes of.
var DefaultResources = []string{
	"pods", "services", "configmaps", "persistentvolumeclaims",
	"deployments.apps", "statefulsets.apps", "jobs.batch", "cronjobs.batch",
}

// check says what is wrong with the configuration, all at once.
func (c Config) check() error {
	errs := []error{c.Tier.Check()}
	if len(c.Resources) == 0 {
		errs = append(errs, fmt.Errorf("%w: it names no resource", ErrConfig))
	}
	for _, r := range c.Resources {
		gr := schema.ParseGroupResource(r)
		if len(validation.IsDNS1123Label(gr.Resource)) > 0 || gr.Group != "" && len(validation.IsDNS1123Subdomain(gr.Group)) > 0 {
			errs = append(errs, fmt.Errorf("%w: %q is no resource such as pods or deployments.apps", ErrConfig, r))
		}
	}
	for _, n := range c.Namespaces {
		if len(validation.IsDNS1123Label(n)) > 0 {
			errs = append(errs, fmt.Errorf("%w: %q is no namespace", ErrConfig, n))
		}
	}
	return errors.Join(errs...)
}

// Objects are what is to be applied, in this order: the policy, its binding, and the
// quotas. They have no status and nothing that a server sets. The error is
// reaper.ErrTier or ErrConfig.
func Objects(c Config) ([]runtime.Object, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	all := []runtime.Object{c.policy(), c.binding()}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(c.Namespaces))) {
		if q := c.quota(namespace); q != nil {
			all = append(all, q)
		}
	}
	return all, nil
}

func (c Config) meta(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "pharos-tier-" + c.Tier.Name, Namespace: namespace, Labels: map[string]string{keys.TierPolicy: c.Tier.Name}}
}

func (c Config) policy() *admissionv1.ValidatingAdmissionPolicy {
	fail, exact := admissionv1.Fail, admissionv1.Exact
	var rules []admissionv1.NamedRuleWithOperations
	for _, g := range c.groups() {
		rules = append(rules, admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{g.group}, APIVersions: []string{"*"}, Resources: g.resources},
		}})
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: c.meta(""),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: rules, MatchPolicy: &exact},
			MatchConditions:  conditions(),
			Variables:        variables(),
			Validations:      validations(c.Tier),
		},
	}
}

func (c Config) binding() *admissionv1.ValidatingAdmissionPolicyBinding {
	chosen := &metav1.LabelSelector{MatchLabels: map[string]string{keys.Tier: c.Tier.Name}}
	if len(c.Namespaces) > 0 {
		chosen = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: slices.Compact(slices.Sorted(slices.Values(c.Namespaces)))},
		}}
	}
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: c.meta(""),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        c.meta("").Name,
			MatchResources:    &admissionv1.MatchResources{NamespaceSelector: chosen},
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// group is one API group's resources.
type group struct {
	group     string
	resources []string
}

// groups are the resources by their groups, both in order, each with its status, by
// which labels and annotations of many kinds can be changed, too.
func (c Config) groups() []group {
	var all []group
	for _, r := range slices.Compact(slices.Sorted(slices.Values(c.Resources))) {
		gr := schema.ParseGroupResource(r)
		i, found := slices.BinarySearchFunc(all, gr.Group, func(g group, name string) int { return strings.Compare(g.group, name) })
		if !found {
			all = slices.Insert(all, i, group{group: gr.Group})
		}
		all[i].resources = append(all[i].resources, gr.Resource, gr.Resource+"/status")
	}
	return all
}

// own is how many objects of a resource a namespace has of its own accord.
var own = map[string]int64{"configmaps": 1, "serviceaccounts": 1}

// quota is that of a namespace, or nil if nothing of it can be in none.
func (c Config) quota(namespace string) *corev1.ResourceQuota {
	hard := corev1.ResourceList{}
	for _, r := range c.Resources {
		if r != "namespaces" {
			hard[corev1.ResourceName("count/"+r)] = *resource.NewQuantity(c.Tier.MaxObjects+own[r], resource.DecimalSI)
		}
	}
	if c.Tier.CPU != reaper.Unlimited {
		hard[corev1.ResourceRequestsCPU] = *resource.NewMilliQuantity(c.Tier.CPU, resource.DecimalSI)
	}
	if c.Tier.Memory != reaper.Unlimited {
		hard[corev1.ResourceRequestsMemory] = *resource.NewQuantity(c.Tier.Memory, resource.BinarySI)
	}
	if len(hard) == 0 {
		return nil
	}
	return &corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: c.meta(namespace),
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}
}

// seconds is a duration in whole seconds.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }
