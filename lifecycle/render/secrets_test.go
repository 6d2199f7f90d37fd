package render_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// hunter stands in the tests' Secrets in every form, and must be in no message.
const hunter = "hunter2-hunter2"

var hunter64 = base64.StdEncoding.EncodeToString([]byte(hunter))

const secretHead = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"

// ciphertext is a value in the form of SOPS, and sopsDocument what SOPS writes beside
// such values.
var (
	ciphertext   = fmt.Sprintf("ENC[AES256_GCM,data:c2VhbGVk,iv:%s,tag:%s,type:str]", strings.Repeat("A", 43)+"=", strings.Repeat("B", 21)+"A==")
	sopsDocument = fmt.Sprintf("sops:\n  kms: []\n  age: [{recipient: age1x, enc: sealed}]\n  lastmodified: '2026-11-30T00:00:00Z'\n  mac: %q\n  version: 3.11.0\n", ciphertext)
)

// TestPlainSecrets refuses Secrets whose values stand in the tree, and says where.
func TestPlainSecrets(t *testing.T) {
	t.Parallel()
	const k = "kustomization.yaml"
	type found struct {
		File   string
		Line   int
		Field  string
		Object string
		Keys   []string
	}
	at := func(name string) string { return overlay + "/" + name }
	for name, c := range map[string]struct {
		files map[string]string // in the overlay's folder
		want  []found
	}{
		"data": {
			map[string]string{k: "resources: [s.yaml]", "s.yaml": object + "---\n" + secretHead + "data:\n  password: " + hunter64 + "\n  empty: ''\n  user: " + hunter64 + "\n"},
			[]found{{at("s.yaml"), 10, "", "Secret login", []string{"password", "user"}}},
		},
		"stringData": {
			map[string]string{k: "resources: [s.yaml]\nnamespace: shop\nnamePrefix: dev-", "s.yaml": secretHead + "stringData: {password: " + hunter + "}\n"},
			[]found{{at("s.yaml"), 4, "", "Secret shop/dev-login", []string{"password"}}},
		},
		"in a list": {
			map[string]string{k: "resources: [s.yaml]", "s.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: login}\n  stringData: {password: " + hunter + "}\n"},
			[]found{{at("s.yaml"), 7, "", "Secret login", []string{"password"}}},
		},
		"generated from literals, a file and lines": {
			map[string]string{
				k:     "resources: [o.yaml]\nsecretGenerator:\n- name: other\n  literals: [a=]\n- name: login\n  options: {disableNameSuffixHash: true}\n  literals: [password=" + hunter + "]\n  files: [key.pem, cert=tls/crt.pem]\n",
				"key": "", "key.pem": hunter, "tls/crt.pem": hunter, "o.yaml": object,
			},
			[]found{{at(k), 5, "secretGenerator[1]", "Secret login", []string{"cert", "key.pem", "password"}}},
		},
		"generated from an environment": {
			map[string]string{k: "secretGenerator:\n- {name: login, envs: [e.env], options: {disableNameSuffixHash: true}}\n", "e.env": "PASSWORD=" + hunter + "\nEMPTY=\n"},
			[]found{{at(k), 2, "secretGenerator[0]", "Secret login", []string{"PASSWORD"}}},
		},
		"patched in": {
			map[string]string{k: "resources: [s.yaml]\npatches:\n- path: p.yaml\n", "s.yaml": secretHead, "p.yaml": secretHead + "stringData:\n  password: " + hunter + "\n"},
			[]found{{at("p.yaml"), 5, "", "Secret login", []string{"password"}}},
		},
		"patched in by a patch in place": {
			map[string]string{k: "resources: [s.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    - op: add\n      path: /stringData\n      value: {pass/word: " + hunter + "}\n    - op: add\n      path: /stringData/t~1oken\n      value: " + hunter + "\n", "s.yaml": secretHead},
			[]found{{at(k), 7, "", "Secret login", []string{"pass/word", "t/oken"}}},
		},
		"of two names, the longer one": {
			map[string]string{k: "resources: [s.yaml, t.yaml]\nnameSuffix: -x\nnamespace: shop", "s.yaml": secretHead, "t.yaml": strings.Replace(secretHead, "login", "admin-login", 1) + "stringData: {password: " + hunter + "}\n"},
			[]found{{at("t.yaml"), 4, "", "Secret shop/admin-login-x", []string{"password"}}},
		},
		"where nobody looks": {
			map[string]string{
				k:        "resources: [s.yaml, c.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: c, fieldPath: data.p}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.password], options: {create: true}}]\n",
				"s.yaml": secretHead, "c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {p: " + hunter + "}\n",
			},
			[]found{{overlay, 0, "", "Secret login", []string{"password"}}},
		},
		"another word than harmless": {
			map[string]string{k: "resources: [s.yaml]", "s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: login, annotations: {pharos.dev/secret-values: \"yes\"}}\nstringData: {password: " + hunter + "}\n"},
			[]found{{at("s.yaml"), 4, "", "Secret login", []string{"password"}}},
		},
		"of no form": {
			map[string]string{k: "resources: [s.yaml]", "s.yaml": secretHead + "data: [" + hunter64 + "]\nStringData: {password: " + hunter + "}\n"},
			[]found{{overlay, 0, "", "Secret login", []string{"data", "password"}}},
		},
		"in a copy by kubectl": {
			map[string]string{k: "resources: [s.yaml]", "s.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: login\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"password\":\"" + hunter64 + "\"}}'}\n"},
			[]found{{overlay, 0, "", "Secret login", []string{"kubectl.kubernetes.io/last-applied-configuration"}}},
		},
		"dressed up as encrypted": {
			map[string]string{k: "resources: [s.yaml]", "s.yaml": secretHead + "stringData:\n  password: 'ENC[AES256_GCM,data:" + hunter + "]'\n  other: '" + ciphertext + "'\n"},
			[]found{{at("s.yaml"), 5, "", "Secret login", []string{"other", "password"}}},
		},
		"beside what is encrypted": {
			map[string]string{
				k: "resources: [s.yaml]\npatches: [{path: p.yaml}]\n", "p.yaml": secretHead + "stringData:\n  password: " + hunter + "\n",
				"s.yaml": secretHead + "stringData:\n  password: '" + ciphertext + "'\n" + sopsDocument,
			},
			[]found{{at("p.yaml"), 5, "", "Secret login", []string{"password"}}},
		},
		"encoded once more": {
			map[string]string{k: "resources: [s.yaml]", "s.yaml": secretHead + "data:\n  password: " + base64.StdEncoding.EncodeToString([]byte(ciphertext)) + "\n" + sopsDocument},
			[]found{{at("s.yaml"), 5, "", "Secret login", []string{"password"}}},
		},
		"several": {
			map[string]string{k: "resources: [a.yaml, b.yaml]", "a.yaml": strings.Replace(secretHead, "login", "a", 1) + "stringData: {x: " + hunter + "}\n", "b.yaml": strings.Replace(secretHead, "login", "b", 1) + "stringData: {y: " + hunter + "}\n"},
			[]found{{at("a.yaml"), 4, "", "Secret a", []string{"x"}}, {at("b.yaml"), 4, "", "Secret b", []string{"y"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := lifecycle.RenderRequest{Overlay: overlay}
			r.Tree, _ = treeOf(inOverlay(c.files))
			_, err := render.New().Render(t.Context(), r)
			if !errors.Is(err, render.ErrPlainSecret) || !errors.Is(err, lifecycle.ErrSource) {
				t.Fatalf("want ErrPlainSecret, got: %v", err)
			}
			if strings.Contains(err.Error(), hunter) || strings.Contains(err.Error(), hunter64) {
				t.Errorf("the value is in the message: %v", err)
			}
			if !strings.Contains(err.Error(), "pharos.dev/secret-values: harmless") {
				t.Errorf("the message does not say how to declare it harmless: %v", err)
			}
			failed, _ := errors.AsType[*lifecycle.Error](err)
			var got []found
			for _, p := range problemsIn(failed.Err) {
				plain, ok := errors.AsType[*render.PlainSecretError](p)
				if !ok {
					t.Fatalf("not about a Secret: %v", p)
				}
				got = append(got, found{p.File, p.Line, p.Field, plain.Object, plain.Keys})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// problemsIn are the problems that an error joins.
func problemsIn(err error) []*render.Problem {
	if p, ok := err.(*render.Problem); ok {
		return []*render.Problem{p}
	}
	var all []*render.Problem
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, problemsIn(e)...)
		}
	}
	return all
}

// TestHarmlessSecrets lets Secrets pass that tell nothing, or say so.
func TestHarmlessSecrets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ k, s string }{
		"no values":              {"", secretHead},
		"a token of the cluster": {"", secretHead + "type: kubernetes.io/service-account-token\n"},
		"a copy without values":  {"", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: login\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"a\":\"\"}}'}\n"},
		"empty values":           {"", secretHead + "data: {a: '', b: null}\nstringData: {c: ''}\n"},
		"declared":               {"", "apiVersion: v1\nkind: Secret\nmetadata: {name: login, annotations: {pharos.dev/secret-values: harmless}}\nstringData: {user: demo}\n"},
		"declared by the overlay": {
			"commonAnnotations: {pharos.dev/secret-values: harmless}\n", secretHead + "stringData: {user: demo}\n",
		},
		"generated and declared": {
			"secretGenerator: [{name: g, literals: [user=demo], options: {annotations: {pharos.dev/secret-values: harmless}}}]\n", secretHead,
		},
		"encrypted by SOPS":        {"", secretHead + fmt.Sprintf("stringData: {a: %q}\ndata: {b: %q, c: ''}\n", ciphertext, ciphertext) + sopsDocument},
		"encrypted for groups":     {"", secretHead + fmt.Sprintf("data: {b: %q}\n", ciphertext) + strings.Replace(sopsDocument, "  age: ", "  age: []\n  key_groups:\n  - hc_vault: []\n  - pgp: ", 1)},
		"a SealedSecret":           {"", "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: login}\nspec: {encryptedData: {password: AgBy}, template: {data: {x: y}}}\n"},
		"an ExternalSecret":        {"", "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: login}\nspec: {data: [{secretKey: password}]}\n"},
		"a Secret of other makers": {"", "apiVersion: example.org/v1\nkind: Secret\nmetadata: {name: login}\ndata: {a: b}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mustRender(t, inOverlay(map[string]string{"kustomization.yaml": "resources: [s.yaml]\n" + c.k, "s.yaml": c.s}), lifecycle.RenderRequest{Overlay: overlay})
			if len(got.Objects) == 0 {
				t.Error("no objects")
			}
		})
	}
}
