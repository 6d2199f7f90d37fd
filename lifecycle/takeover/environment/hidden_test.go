package environment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/catalogue"
)

// everyWay shows a thing in all ways that a program might by mistake.
func everyWay(t *testing.T, thing any) string {
	t.Helper()
	var b bytes.Buffer
	type nested struct {
		Exported   any
		unexported any
		list       []any
		byName     map[string]any
	}
	for _, v := range []any{thing, &thing, nested{thing, thing, []any{thing}, map[string]any{"a": thing}}, []any{thing}, map[string]any{"a": thing}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			fmt.Fprintf(&b, verb+"\n", v)
		}
		fmt.Fprintln(&b, v)
	}
	for _, v := range []any{thing, &thing, []any{thing}, map[string]any{"a": thing}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
		slog.New(slog.NewTextHandler(&b, nil)).Info("a thing", "thing", v)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("a thing", "thing", v, slog.Group("group", "thing", v))
	}
	return b.String()
}

// holdsCanary says which way of writing the canary is in a text.
func holdsCanary(text string) (string, bool) {
	for _, form := range append(forms(canary), fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), strings.Trim(fmt.Sprint([]byte(canary)), "[]")) {
		if strings.Contains(text, form) {
			return form, true
		}
	}
	return "", false
}

// No way of printing, logging or encoding shows a value.
func TestNothingShowsValues(t *testing.T) {
	t.Parallel()
	r := shop()
	r.secrets["canary"] = map[string]string{"key": canary}
	q := request(corev1.Container{
		Env:          []corev1.EnvVar{secretKey("A", "canary", "key", false), {Name: "B", Value: "b $(A)"}, {Name: "C", Value: canary}},
		VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/etc/canary"}},
	}, "*")
	q.Pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "canary"}}}}
	q.Run.Files, q.Folder = []catalogue.RunFiles{{Path: "/etc/canary"}}, "/run/x"
	q.DotEnv, q.DotEnvName = []byte("D='"+canary+"'"), ".env"
	e, err := Resolve(t.Context(), r, q)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Files) != 1 || len(e.Environ()) != 5 {
		t.Fatalf("got %v", e)
	}
	settings, err := ParseDotEnv(".env", q.DotEnv)
	if err != nil {
		t.Fatal(err)
	}
	for name, thing := range map[string]any{
		"the environment": e, "a pointer to it": &e, "a variable": e.Vars[0], "variables": e.Vars, "a file": e.Files[0], "files": e.Files,
		"a setting": settings[0], "a token": NewToken(canary, q.Pod.CreationTimestamp.Time), "secrets": e.secrets,
	} {
		text := everyWay(t, thing)
		if form, found := holdsCanary(text); found {
			t.Errorf("%s shows %q", name, form)
		}
		if len(text) < 500 {
			t.Errorf("%s: little was tried: %s", name, text)
		}
	}
	// The search finds what is shown.
	for _, thing := range []any{canary, struct{ V string }{canary}, []byte(canary), map[string]string{"a": canary}, e.Environ(), e.Secrets(), e.Vars[0].Value()} {
		if _, found := holdsCanary(everyWay(t, thing)); !found {
			t.Errorf("a value of the type %T is not found", thing)
		}
	}
}
