package apply_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

// webhook is a server that the API server asks about ConfigMaps of a namespace.
func webhook(t *testing.T, answer http.HandlerFunc) (client admissionregistrationv1.WebhookClientConfig) {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	return admissionregistrationv1.WebhookClientConfig{
		URL:      &server.URL,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// review answers a review.
func review(t *testing.T, decide func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var a admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
			return
		}
		a.Response = decide(a.Request)
		a.Response.UID, a.Request = a.Request.UID, nil
		if err := json.NewEncoder(w).Encode(a); err != nil {
			t.Error(err)
		}
	}
}

func rules() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
}

func in(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
}

// validate registers a webhook that may refuse, and waits until it is asked.
func validate(t *testing.T, b *bench, answer http.HandlerFunc) (remove func()) {
	t.Helper()
	none, timeout := admissionregistrationv1.SideEffectClassNone, int32(1)
	hooks := b.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	asked := make(chan struct{}, 1000)
	client := webhook(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		answer(w, r)
	})
	_, err := hooks.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: b.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "policy.pharos.test", ClientConfig: client, Rules: rules(), NamespaceSelector: in(b.namespace),
			SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	removed := false
	remove = func() {
		if removed {
			return
		}
		removed = true
		if err := hooks.Delete(context.WithoutCancel(t.Context()), b.namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	t.Cleanup(remove)
	probeUntil(t, b, func(error) bool { return len(asked) > 0 })
	return remove
}

// probeUntil writes, as a dry run, until the API server has heard of a change of
// its webhooks.
func probeUntil(t *testing.T, b *bench, enough func(error) bool) {
	t.Helper()
	for ctx := t.Context(); ; {
		_, err := b.admin.CoreV1().ConfigMaps(b.namespace).Patch(ctx, "probe", types.ApplyPatchType,
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"},"data":{"mode":"calm"}}`),
			metav1.PatchOptions{FieldManager: "probe", DryRun: []string{metav1.DryRunAll}})
		if enough(err) {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestAWebhookThatRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	remove := validate(t, b, review(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: 403, Message: "you cannot be calm here"}}
	}))
	r := b.request(t, configMap+"\n---\n"+deployment)
	result, err := b.Deliver(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrSource) || errors.Is(err, lifecycle.ErrUnreachable) || len(result.Changes) > 0 {
		t.Errorf("got %v, %v", result, err)
	}
	mustContain(t, err.Error(), "apply ConfigMap "+b.namespace+"/settings", `admission webhook "policy.pharos.test" denied`, "you cannot be calm here", "An admission rule of the cluster refuses it")
	remove()
	probeUntil(t, b, func(err error) bool { return err == nil })
	deliverAll(t, b, r)
}

// deliverAll delivers what failed before, and expects it to come out right.
func deliverAll(t *testing.T, b *bench, r lifecycle.DeliverRequest) {
	t.Helper()
	result, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Changes) != len(r.Objects) || len(result.Seen) != len(r.Objects) {
		t.Errorf("got %q", lines(result.Changes))
	}
	if o := b.wait(t, r.Resolved); !o.Healthy() {
		t.Errorf("saw %v", reasons(o.Unready))
	}
}

func TestAWebhookThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Deliverer = newDeliverer(t, apply.Config{RESTConfig: b.cluster.Config(), DefaultNamespace: b.namespace, RetryFor: time.Second})
	var works atomic.Bool
	fine := review(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	validate(t, b, func(w http.ResponseWriter, r *http.Request) {
		if works.Load() {
			fine(w, r)
			return
		}
		// Only a request that was read is told that nobody waits for its answer.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		<-r.Context().Done()
	})
	r := b.request(t, configMap+"\n---\n"+deployment)
	_, err := b.Deliver(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrUnreachable) || errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got %v", err)
	}
	mustContain(t, err.Error(), "apply ConfigMap "+b.namespace+"/settings", `webhook "policy.pharos.test"`, "See that what stands behind this webhook runs")
	works.Store(true)
	deliverAll(t, b, r)
}

// What admission adds or changes is no drift, no conflict, and no change at the
// next delivery.
func TestAdmissionThatMutates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	patch := admissionv1.PatchTypeJSONPatch
	client := webhook(t, review(t, func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &patch,
			Patch: []byte(`[{"op":"add","path":"/data/mode","value":"tamed"},{"op":"add","path":"/data/added","value":"yes"}]`)}
	}))
	none := admissionregistrationv1.SideEffectClassNone
	hooks := b.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := hooks.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: b.namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "tamer.pharos.test", ClientConfig: client, Rules: rules(), NamespaceSelector: in(b.namespace),
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(t.Context()), b.namespace, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for tamed := false; !tamed; {
		cm, err := b.admin.CoreV1().ConfigMaps(b.namespace).Patch(t.Context(), "probe", types.ApplyPatchType,
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"},"data":{"mode":"calm"}}`),
			metav1.PatchOptions{FieldManager: "probe", DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatal(err)
		}
		tamed = cm.Data["mode"] == "tamed"
	}
	first := b.request(t, configMap)
	deliverAll(t, b, first)
	seen := b.wait(t, first.Resolved).Seen
	if o := b.observe(t, lifecycle.ObserveRequest{Objects: first.Resolved, Seen: seen}); len(o.Drifted) > 0 {
		t.Errorf("drifted: %v", reasons(o.Drifted))
	}
	for _, known := range []bool{false, true} {
		r := first
		if known {
			r.Applied, r.Seen = first.Resolved, seen
		}
		result, err := b.Deliver(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "again", lines(result.Changes), "unchanged ConfigMap "+b.namespace+"/settings")
	}
	cm, err := b.admin.CoreV1().ConfigMaps(b.namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || cm.Data["mode"] != "tamed" || cm.Data["added"] != "yes" {
		t.Errorf("holds %v, %v", cm.Data, err)
	}
}

func TestQuotaThatIsExceeded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	quota := "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: limit}\nspec: {hard: {count/secrets: '1'}}"
	b.wait(t, b.deliver(t, quota))
	b.awaitQuota(t)
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME}\nstringData: {p: hunter2}"
	docs := strings.Replace(secret, "NAME", "a", 1) + "\n---\n" + strings.Replace(secret, "NAME", "b", 1)
	r := b.request(t, docs)
	_, err := b.Deliver(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got %v", err)
	}
	mustContain(t, err.Error(), "Secret "+b.namespace+"/", "a quota, a security standard or a policy")
	if text := err.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("hunter2"))) {
		t.Errorf("quotes a value: %v", err)
	}
	b.wait(t, b.deliver(t, strings.Replace(quota, "'1'", "'9'", 1)))
	deliverAll(t, b, r)
}

// awaitQuota waits until the quota's controller has counted.
func (b *bench) awaitQuota(t *testing.T) {
	t.Helper()
	w, err := b.admin.CoreV1().ResourceQuotas(b.namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range w.ResultChan() {
		q, err := b.admin.CoreV1().ResourceQuotas(b.namespace).Get(t.Context(), "limit", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(q.Status.Hard) > 0 {
			return
		}
	}
	t.Fatal("the watch ended")
}

// encoded is a scalar of YAML in which no NS stands for the bench's namespace.
func encoded(b []byte) string {
	return `"` + strings.ReplaceAll(base64.StdEncoding.EncodeToString(b), "NS", `N\x53`) + `"`
}
