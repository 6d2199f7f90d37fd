package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/internal/durations"
	"github.com/pharos-dev/pharos/reaper/policy"
)

type marks = map[string]string

// bench is a namespace of a real API server that a tier's policy is bound to.
type bench struct {
	kube      kubernetes.Interface
	namespace string
	tier      reaper.Tier
}

// newBench returns when the policy is in force.
func newBench(t *testing.T, tier reaper.Tier) bench {
	t.Helper()
	c := devtest.Cluster(t)
	b := bench{devtest.Client(t, c.Config()), devtest.Namespace(t, c), tier}
	b.tier.Name = b.namespace[len(b.namespace)-5:] + tier.Name
	objects, err := policy.Objects(policy.Config{Tier: b.tier, Namespaces: []string{b.namespace}, Resources: []string{"configmaps", "secrets", "deployments.apps"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			_, err = b.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), o, metav1.CreateOptions{})
			t.Cleanup(func() {
				_ = b.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(context.WithoutCancel(t.Context()), o.Name, metav1.DeleteOptions{})
			})
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			_, err = b.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), o, metav1.CreateOptions{})
			t.Cleanup(func() {
				_ = b.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(context.WithoutCancel(t.Context()), o.Name, metav1.DeleteOptions{})
			})
		case *corev1.ResourceQuota:
			_, err = b.kube.CoreV1().ResourceQuotas(b.namespace).Create(t.Context(), o, metav1.CreateOptions{})
		default:
			t.Fatalf("%T", o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return b.create(t, nil, nil, metav1.DryRunAll) != nil, nil
	})
	if err != nil {
		t.Fatalf("the policy is not in force: %v", err)
	}
	return b
}

// create makes a ConfigMap, or tries to.
func (b bench) create(t *testing.T, labels, annotations marks, dryRun ...string) error {
	t.Helper()
	_, err := b.kube.CoreV1().ConfigMaps(b.namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "x-", Labels: labels, Annotations: annotations},
	}, metav1.CreateOptions{DryRun: dryRun})
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	return err
}

var transient = marks{keys.Intent: "transient"}

func tier(longest time.Duration) reaper.Tier {
	return reaper.Tier{Name: "t", MaxTTL: longest, MaxObjects: 3, CPU: 1000, Memory: 1 << 30, CreatesPerHour: 10}
}

// The API server reads each duration as the parser does.
func TestDurationsAgree(t *testing.T) {
	t.Parallel()
	b := newBench(t, tier(reaper.MaxDuration))
	refused := func(c durations.Case, key string, err error) {
		t.Helper()
		if (err != nil) != (c.Why != "") {
			t.Errorf("%s=%q: the API server says %v, and the parser %q", key, c.Text, err, c.Why)
		}
	}
	for _, c := range durations.Cases {
		refused(c, keys.TTL, b.create(t, transient, marks{keys.Owner: "ann", keys.TTL: c.Text}, metav1.DryRunAll))
		refused(c, keys.Grace, b.create(t, transient, marks{keys.Owner: "ann", keys.ExpiresAt: reaper.FormatTime(time.Now()), keys.Grace: c.Text}, metav1.DryRunAll))
	}
}

// It adds up the seconds that the parser does: the tier's limit is exact.
func TestLimitsAgree(t *testing.T) {
	t.Parallel()
	b := newBench(t, tier(9*24*time.Hour+3*time.Hour+4*time.Minute+5*time.Second))
	for _, c := range durations.Cases {
		if c.Why != "" {
			continue
		}
		err := b.create(t, transient, marks{keys.Owner: "ann", keys.TTL: c.Text}, metav1.DryRunAll)
		if fits := c.Is <= b.tier.MaxTTL; (err == nil) != fits {
			t.Errorf("%q: %v, want it to fit: %v", c.Text, err, fits)
		}
	}
	for ttl, fits := range map[string]bool{"1w2d3h4m4s": true, "1w2d3h4m5s": false} { // with a second of grace
		if err := b.create(t, transient, marks{keys.Owner: "ann", keys.TTL: ttl, keys.Grace: "1s"}, metav1.DryRunAll); (err == nil) != fits {
			t.Errorf("%q with grace: %v", ttl, err)
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	b := newBench(t, tier(24*time.Hour))
	in := func(d time.Duration) string { return reaper.FormatTime(time.Now().Add(d)) }
	good := marks{keys.Owner: "ann", keys.TTL: "1h"}
	with := func(kv ...string) marks {
		m := marks{}
		for k, v := range good {
			m[k] = v
		}
		for i := 0; i < len(kv); i += 2 {
			if m[kv[i]] = kv[i+1]; kv[i+1] == "" {
				delete(m, kv[i])
			}
		}
		return m
	}
	for name, tc := range map[string]struct {
		labels, annotations marks
		says                string // "" is admitted
	}{
		"good":                  {transient, good, ""},
		"an expiry":             {transient, with(keys.TTL, "", keys.ExpiresAt, in(23*time.Hour)), ""},
		"both, and grace":       {transient, with(keys.ExpiresAt, in(time.Hour), keys.Grace, "5m"), ""},
		"activity":              {transient, with(keys.LastActive, in(-time.Hour)), ""},
		"another zone":          {transient, with(keys.ExpiresAt, time.Now().In(time.FixedZone("", 3600)).Format(time.RFC3339)), ""},
		"no label":              {nil, good, "has to be transient"},
		"retained":              {marks{keys.Intent: "retained"}, good, "has to be transient"},
		"another intent":        {marks{keys.Intent: "Transient"}, good, "has to be transient"},
		"no owner":              {transient, with(keys.Owner, ""), "whom to ask"},
		"no end":                {transient, with(keys.TTL, ""), "when it ends"},
		"too long":              {transient, with(keys.TTL, "1d1s"), "at most 1d"},
		"too long with grace":   {transient, with(keys.TTL, "1d", keys.Grace, "1s"), "at most 1d"},
		"too late":              {transient, with(keys.ExpiresAt, in(25*time.Hour)), "from now on"},
		"too late with grace":   {transient, with(keys.ExpiresAt, in(23*time.Hour), keys.Grace, "2h"), "from now on"},
		"no zone":               {transient, with(keys.ExpiresAt, "2026-03-04T05:06:07"), "is no time"},
		"EST":                   {transient, with(keys.ExpiresAt, "2026-03-04T05:06:07EST"), "is no time"},
		"a short hour":          {transient, with(keys.ExpiresAt, "2026-03-04T5:06:07Z"), "is no time"},
		"no such day":           {transient, with(keys.ExpiresAt, "2026-02-30T05:06:07Z"), "expiresAt"},
		"no such month":         {transient, with(keys.ExpiresAt, "2026-13-04T05:06:07Z"), "is no time"},
		"another age":           {transient, with(keys.ExpiresAt, "1970-01-01T00:00:00Z"), "is no time"},
		"active in the future":  {transient, with(keys.LastActive, in(time.Hour)), "later than now"},
		"no activity":           {transient, with(keys.LastActive, "now"), "is no time"},
		"what is to become":     {transient, with(keys.OnExpiry, "archive"), keys.OnExpiry},
		"a value that is large": {transient, with(keys.TTL, strings.Repeat("9", 200_000)+"s"), "is no duration"},
	} {
		err := b.create(t, tc.labels, tc.annotations, metav1.DryRunAll)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %.400v, want %q", name, err, tc.says)
		}
		// Check says the same of it, as far as it can.
		o := reaper.Object{Kind: "ConfigMap", Namespace: "x", Name: "x", UID: "u", Created: time.Now(), Labels: tc.labels, Annotations: tc.annotations}
		if got := policy.Check(o, b.tier); (len(got) > 0) != (tc.says != "") && name != "active in the future" {
			t.Errorf("%s: Check says %v, and the API server %v", name, got, err)
		}
	}
}

// What is not of people's making, and updates of what was there before, pass.
func TestWhatPasses(t *testing.T) {
	t.Parallel()
	b := newBench(t, tier(24*time.Hour))
	maps := b.kube.CoreV1().ConfigMaps(b.namespace)
	update := func(name string, change func(*corev1.ConfigMap)) error {
		m, err := maps.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		change(m)
		_, err = maps.Update(t.Context(), m, metav1.UpdateOptions{})
		return err
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ServiceAccount", Name: "nobody", UID: "00000000-0000-0000-0000-000000000000"},
	}}}
	if _, err := maps.Create(t.Context(), owned, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("what has an owner: %v", err)
	}
	if _, err := b.kube.CoreV1().ServiceAccounts(b.namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "free"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("another resource: %v", err)
	}
	good := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "good", Labels: transient, Annotations: marks{keys.Owner: "ann", keys.TTL: "1h"}}}
	if _, err := maps.Create(t.Context(), good, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*corev1.ConfigMap)
		says   string
	}{
		"its data":         {func(m *corev1.ConfigMap) { m.Data = marks{"a": "b"} }, ""},
		"touched":          {func(m *corev1.ConfigMap) { m.Annotations[keys.LastActive] = reaper.FormatTime(time.Now()) }, ""},
		"another owner":    {func(m *corev1.ConfigMap) { m.Annotations[keys.Owner] = "bob" }, ""},
		"a longer TTL":     {func(m *corev1.ConfigMap) { m.Annotations[keys.TTL] = "2d" }, "at most 1d"},
		"a broken TTL":     {func(m *corev1.ConfigMap) { m.Annotations[keys.TTL] = "60" }, "is no duration"},
		"no end":           {func(m *corev1.ConfigMap) { delete(m.Annotations, keys.TTL) }, "when it ends"},
		"no intent":        {func(m *corev1.ConfigMap) { delete(m.Labels, keys.Intent) }, "has to be transient"},
		"no owner":         {func(m *corev1.ConfigMap) { delete(m.Annotations, keys.Owner) }, "whom to ask"},
		"another's intent": {func(m *corev1.ConfigMap) { m.Labels[keys.Intent] = "ephemeral" }, "has to be transient"},
	} {
		if err := update("good", tc.change); (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	if err := update("good", func(m *corev1.ConfigMap) { m.Labels[keys.Intent] = "retained"; delete(m.Annotations, keys.TTL) }); err != nil {
		t.Errorf("retained: %v", err)
	}
	// What the namespace has of its own accord comes back.
	awaitBundle := func(other types.UID) (uid types.UID) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			m, err := maps.Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			uid = m.UID
			return err == nil && uid != other, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return uid
	}
	was := awaitBundle("")
	if err := maps.Delete(t.Context(), "kube-root-ca.crt", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitBundle(was)
}

// Who may write a status may not change an intent by that.
func TestStatus(t *testing.T) {
	t.Parallel()
	b := newBench(t, tier(24*time.Hour))
	labels := marks{"app": "shop"}
	deployments := b.kube.AppsV1().Deployments(b.namespace)
	_, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: transient, Annotations: marks{keys.Owner: "ann", keys.TTL: "1h"}},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "shop", Image: "example.org/shop"}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for patch, says := range map[string]string{
		`{"status":{"replicas":0}}`:                                                              "",
		`{"metadata":{"annotations":{"pharos.dev/ttl":"3650d"}}}`:                                "at most 1d",
		`{"metadata":{"annotations":{"pharos.dev/owner":null}}}`:                                 "whom to ask",
		`{"metadata":{"annotations":{"pharos.dev/ttl":null,"pharos.dev/expires-at":"forever"}}}`: "is no time",
	} {
		_, err := deployments.Patch(t.Context(), "shop", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", patch, err, says)
		}
	}
}

// The quota counts what the tier allows beside what a namespace has of its own.
func TestQuota(t *testing.T) {
	t.Parallel()
	b := newBench(t, tier(24*time.Hour))
	secret := func(i int) error {
		_, err := b.kube.CoreV1().Secrets(b.namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i), Labels: transient, Annotations: marks{keys.Owner: "ann", keys.TTL: "1h"}}}, metav1.CreateOptions{})
		return err
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		q, err := b.kube.CoreV1().ResourceQuotas(b.namespace).Get(ctx, "pharos-tier-"+b.tier.Name, metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) == 5, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := secret(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := secret(3); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: pharos-tier-"+b.tier.Name) {
		t.Errorf("error %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := policy.Config{Tier: tier(time.Hour), Namespaces: []string{"a"}, Resources: []string{"pods"}}
	for name, tc := range map[string]struct {
		change func(*policy.Config)
		want   error
	}{
		"no tier":      {func(c *policy.Config) { c.Tier = reaper.Tier{} }, reaper.ErrTier},
		"no resource":  {func(c *policy.Config) { c.Resources = nil }, policy.ErrConfig},
		"all":          {func(c *policy.Config) { c.Resources = []string{"*"} }, policy.ErrConfig},
		"a status":     {func(c *policy.Config) { c.Resources = []string{"pods/status"} }, policy.ErrConfig},
		"no group":     {func(c *policy.Config) { c.Resources = []string{"deployments.A_B"} }, policy.ErrConfig},
		"no namespace": {func(c *policy.Config) { c.Namespaces = []string{"A"} }, policy.ErrConfig},
	} {
		c := good
		tc.change(&c)
		if objects, err := policy.Objects(c); !errors.Is(err, tc.want) || objects != nil {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}
