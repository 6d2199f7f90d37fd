package divert_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// webhook is a real admission webhook, which the API server calls.
type webhook struct {
	mutates  bool
	group    string
	resource string
	// down has nobody answer.
	down bool
	// review answers: why it is refused, or a JSON patch.
	review func(object []byte) (refusal, patch string)
}

// admit has the API server call a webhook for the bench's namespace, and waits until it
// does.
func (b *bench) admit(h webhook) {
	b.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		out := &admissionv1.AdmissionResponse{UID: in.Request.UID, Allowed: true}
		if in.Request.SubResource == "" {
			refusal, patch := h.review(in.Request.Object.Raw)
			if refusal != "" {
				out.Allowed, out.Result = false, &metav1.Status{Message: refusal}
			}
			if patch != "" {
				out.Patch, out.PatchType = []byte(patch), ptr.To(admissionv1.PatchTypeJSONPatch)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: in.TypeMeta, Response: out})
	}))
	b.Cleanup(server.Close)
	if h.down {
		server.Close()
	}
	none := admissionregistrationv1.SideEffectClassNone
	name := b.namespace + "." + h.resource + ".example.com"
	client := admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL + "/review"), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	rules := []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{h.group}, APIVersions: []string{"v1"}, Resources: []string{h.resource}}}}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.namespace}}
	meta, api := metav1.ObjectMeta{Name: name}, b.admin.AdmissionregistrationV1()
	var err error
	var remove func(context.Context, string, metav1.DeleteOptions) error
	if h.mutates {
		remove = api.MutatingWebhookConfigurations().Delete
		_, err = api.MutatingWebhookConfigurations().Create(b.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta,
			Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: name, ClientConfig: client, Rules: rules, NamespaceSelector: here, SideEffects: &none,
				AdmissionReviewVersions: []string{"v1"}}}}, metav1.CreateOptions{})
	} else {
		remove = api.ValidatingWebhookConfigurations().Delete
		_, err = api.ValidatingWebhookConfigurations().Create(b.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta,
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: name, ClientConfig: client, Rules: rules, NamespaceSelector: here, SideEffects: &none,
				AdmissionReviewVersions: []string{"v1"}}}}, metav1.CreateOptions{})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := remove(ctx, name, metav1.DeleteOptions{}); err != nil {
			b.Error(err)
		}
	})
}

const reviewed = "only images of registry.example/reviewed are allowed"

// registryPolicy refuses the agent's image.
func registryPolicy(object []byte) (refusal, patch string) {
	if strings.Contains(string(object), "pharos-agent") {
		return reviewed, ""
	}
	return "", ""
}

// What a webhook refuses is known before anything is written, with what it says.
func TestValidatingWebhook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	was := b.deliver(original)
	d := b.plan()
	w := b.writer(b.cluster.Config(), nil)
	b.admit(webhook{group: "", resource: "pods", review: registryPolicy})
	b.until(func() bool {
		refusals, _ := b.examine(w, d)
		return strings.Contains(refusals, reviewed)
	})
	b.admit(webhook{group: "apps", resource: "deployments", review: registryPolicy})
	b.until(func() bool { return errors.Is(w.DryRun(t.Context(), d), divert.ErrRejected) })
	for _, try := range []func(context.Context, divert.Diversion) error{w.DryRun, w.Divert} {
		if err := try(t.Context(), d); !errors.Is(err, divert.ErrRejected) || !strings.Contains(err.Error(), reviewed) {
			t.Errorf("got %v", err)
		}
	}
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Error("it was changed")
	}
}

// Admission that has images pulled from a mirror, and that adds to what it sees, is no
// matter: there and back all is as it was.
func TestMutatingWebhooks(t *testing.T) {
	t.Parallel()
	const at = "/spec/template/spec/containers/1/image"
	for name, h := range map[string]webhook{
		"mirror": {group: "apps", resource: "deployments", review: func(object []byte) (string, string) {
			image := imageOfDoc(object)
			if path, ok := strings.CutPrefix(image, "registry.example/"); ok {
				return "", `[{"op":"replace","path":"` + at + `","value":"mirror.example/` + path + `"}]`
			}
			return "", ""
		}},
		"annotations": {group: "apps", resource: "deployments", review: func(object []byte) (string, string) {
			if strings.Contains(string(object), "seen-by") {
				return "", ""
			}
			return "", `[{"op":"add","path":"/spec/template/metadata/annotations","value":{"example.com/seen-by":"webhook"}}]`
		}},
		"sidecar": {group: "", resource: "pods", review: func(object []byte) (string, string) {
			if strings.Contains(string(object), "injected") {
				return "", ""
			}
			return "", `[{"op":"add","path":"/spec/containers/0","value":{"name":"injected","image":"registry.example/proxy:1"}}]`
		}},
		"mirror for pods": {group: "", resource: "pods", review: func(object []byte) (string, string) {
			var pod corev1.Pod
			if err := json.Unmarshal(object, &pod); err != nil || len(pod.Spec.Containers) != 2 || !strings.HasPrefix(pod.Spec.Containers[1].Image, "registry.example/") {
				return "", ""
			}
			return "", `[{"op":"replace","path":"/spec/containers/1/image","value":"mirror.example/x@` + digest(pod.Spec.Containers[1].Image) + `"}]`
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			called := make(chan struct{}, 1)
			review := h.review
			h.mutates, h.review = true, func(object []byte) (string, string) {
				refusal, patch := review(object)
				if patch != "" {
					select {
					case called <- struct{}{}:
					default:
					}
				}
				return refusal, patch
			}
			b.admit(h)
			n := 0
			b.until(func() bool { // it is called some time after it was configured
				if n++; b.apply([]string{other, original}[n%2]) != nil {
					return false
				}
				select {
				case <-called:
					return true
				default:
					return h.resource == "pods" && b.tried(called)
				}
			})
			was := b.deliver(original)
			d, refusals, warnings, err := divert.Plan(was, declared(t, original), "api", agent)
			if err != nil || len(refusals) > 0 || strings.Contains(strings.ToLower(join(warnings)), "registry") {
				t.Fatal(refusals, warnings, err)
			}
			w := b.writer(b.cluster.Config(), nil)
			if refusals, _ := b.examine(w, d); refusals != "[]" {
				t.Errorf("refused: %s", refusals)
			}
			if err := errors.Join(w.DryRun(t.Context(), d), w.Divert(t.Context(), d), w.Divert(t.Context(), d)); err != nil {
				t.Fatal(err)
			}
			if !d.IsAgent(imageOf(t, b.live())) {
				t.Errorf("it runs %s", imageOf(t, b.live()))
			}
			b.rolledOut()
			if r := b.restore(w, d); r.Outcome != divert.OutcomeRestored || len(r.Kept) > 0 {
				t.Errorf("put back: %+v", r)
			}
			if now := b.live(); spec(t, now) != spec(t, was) {
				t.Errorf("it is\n%s\nand was\n%s", spec(t, now), spec(t, was))
			}
		})
	}
}

// tried has the API server try a pod, and says whether that called the webhook.
func (b *bench) tried(called <-chan struct{}) bool {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar", Image: "registry.example/sidecar:1"}, {Name: "api", Image: original}}}}
	pod.GenerateName = "api-"
	if _, err := b.admin.CoreV1().Pods(b.namespace).Create(b.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return false
	}
	select {
	case <-called:
		return true
	default:
		return false
	}
}

func join(warnings []divert.Warning) (text string) {
	for _, w := range warnings {
		text += w.Text + "\n"
	}
	return text
}

// imageOfDoc is the image of the container of a Deployment.
func imageOfDoc(object []byte) string {
	var d struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal(object, &d); err != nil || len(d.Spec.Template.Spec.Containers) < 2 {
		return ""
	}
	return d.Spec.Template.Spec.Containers[1].Image
}

// Admission that puts another image in the place of the agent's is told of before
// anything is written.
func TestWebhookThatReplacesTheAgent(t *testing.T) {
	t.Parallel()
	replace := func(path string) func([]byte) (string, string) {
		return func(object []byte) (string, string) {
			if !strings.Contains(string(object), "pharos-agent") {
				return "", ""
			}
			return "", `[{"op":"replace","path":"` + path + `/containers/1/image","value":"` + other + `"}]`
		}
	}
	b := newBench(t)
	was := b.deliver(original)
	d := b.plan()
	w := b.writer(b.cluster.Config(), nil)
	b.admit(webhook{mutates: true, group: "", resource: "pods", review: replace("/spec")})
	b.until(func() bool {
		refusals, _ := b.examine(w, d)
		return strings.Contains(refusals, "the cluster runs image") && strings.Contains(refusals, other)
	})
	b.admit(webhook{mutates: true, group: "apps", resource: "deployments", review: replace("/spec/template/spec")})
	b.until(func() bool {
		err := w.DryRun(t.Context(), d)
		return errors.Is(err, divert.ErrRejected) && strings.Contains(err.Error(), `admission wrote other values for /image of container "api"`)
	})
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Error("it was changed")
	}
}

// A webhook that does not answer is named, with what to do about it.
func TestWebhookThatIsDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	was := b.deliver(original)
	d := b.plan()
	w := b.writer(b.cluster.Config(), nil)
	b.admit(webhook{down: true, group: "", resource: "pods"})
	b.until(func() bool {
		refusals, _ := b.examine(w, d)
		return strings.Contains(refusals, "failed calling webhook") && strings.Contains(refusals, "does not answer")
	})
	b.admit(webhook{down: true, group: "apps", resource: "deployments"})
	b.until(func() bool {
		err := w.DryRun(t.Context(), d)
		return err != nil && strings.Contains(err.Error(), b.namespace+".deployments.example.com") && strings.Contains(err.Error(), "does not answer")
	})
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Error("it was changed")
	}
}
