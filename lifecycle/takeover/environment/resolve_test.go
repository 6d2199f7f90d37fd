package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pharos-dev/pharos/catalogue"
)

// shop are objects of a namespace.
func shop() *memoryReader {
	service := corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.7", Ports: []corev1.ServicePort{{Port: 80, Name: "http"}, {Port: 53, Name: "dns-udp", Protocol: corev1.ProtocolUDP}}}}
	service.Name = "web-api"
	node := corev1.Node{}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3500m"), corev1.ResourceMemory: resource.MustParse("2Gi")}
	return &memoryReader{
		configMaps: map[string]map[string]string{
			"app": {"LOG": "info", "MODE": "cluster", "SHARED": "from app"}, "more": {"SHARED": "from more", "EXTRA": "e"},
		},
		secrets: map[string]map[string]string{
			"db": {"url": "postgres://ann:pass%40word@postgres:5432/shop", "password": "s3cret-password", "SHARED": "from db"}, "unused": {"x": "y"},
		},
		services: map[string]corev1.Service{"shop/web-api": service},
		nodes:    map[string]corev1.Node{"node-1": node},
	}
}

func ref(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func fromConfigMap(name, prefix string) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref(name)}}
}

func fromSecret(name, prefix string) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref(name)}}
}

func configMapKey(variable, name, key string, optional bool) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref(name), Key: key, Optional: &optional}}}
}

func secretKey(variable, name, key string, optional bool) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref(name), Key: key, Optional: &optional}}}
}

func fieldRef(variable, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func resourceRef(variable, of, divisor string) corev1.EnvVar {
	selector := &corev1.ResourceFieldSelector{Resource: of}
	if divisor != "" {
		selector.Divisor = resource.MustParse(divisor)
	}
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: selector}}
}

func request(c corev1.Container, allowed ...string) Request {
	c.Name = "main"
	q := Request{Namespace: "shop", Container: "main", Run: catalogue.Run{Env: allowed}}
	q.Pod.Spec.Containers = []corev1.Container{c}
	return q
}

func environ(e Environment) map[string]string {
	vars := map[string]string{}
	for _, v := range e.Vars {
		vars[v.Name] = v.Value()
	}
	return vars
}

func TestResolve(t *testing.T) {
	t.Parallel()
	live := &corev1.Pod{}
	live.Name, live.UID, live.Labels = "api-5", "u-1", map[string]string{"app": "api", "hash": "5"}
	live.Spec.NodeName, live.Status.PodIP = "node-1", "10.1.1.1"
	live.Status.PodIPs, live.Status.HostIP = []corev1.PodIP{{IP: "10.1.1.1"}, {IP: "fd::1"}}, "10.2.2.2"
	all := []corev1.EnvFromSource{fromConfigMap("app", ""), fromSecret("db", "DB_"), fromConfigMap("more", "")}
	for _, tt := range []struct {
		name    string
		c       corev1.Container
		allowed []string
		edit    func(*Request)
		want    map[string]string
		reads   []string
		missing []string
	}{
		{name: "nothing is allowed", c: corev1.Container{EnvFrom: all, Env: []corev1.EnvVar{{Name: "A", Value: "a"}, secretKey("B", "db", "password", false)}}},
		{
			name: "sources in their order", c: corev1.Container{EnvFrom: all}, allowed: []string{"*"},
			want:  map[string]string{"LOG": "info", "MODE": "cluster", "SHARED": "from more", "EXTRA": "e", "DB_SHARED": "from db", "DB_url": "postgres://ann:pass%40word@postgres:5432/shop", "DB_password": "s3cret-password"},
			reads: []string{"configmap/app", "configmap/more", "secret/db"},
		},
		{
			name: "a source that cannot have it is not read", c: corev1.Container{EnvFrom: all}, allowed: []string{"LOG*", "EX*"},
			want: map[string]string{"LOG": "info", "EXTRA": "e"}, reads: []string{"configmap/app", "configmap/more"},
		},
		{
			name: "a pattern that fits a prefix", c: corev1.Container{EnvFrom: all}, allowed: []string{"DB_S*"},
			want: map[string]string{"DB_SHARED": "from db"}, reads: []string{"configmap/app", "configmap/more", "secret/db"},
		},
		{
			name: "the last source that has a name is the only one read", c: corev1.Container{EnvFrom: all}, allowed: []string{"SHARED"},
			want: map[string]string{"SHARED": "from more"}, reads: []string{"configmap/more"},
		},
		{
			name: "what is declared comes before sources", c: corev1.Container{EnvFrom: all, Env: []corev1.EnvVar{{Name: "SHARED", Value: "declared"}}}, allowed: []string{"SHARED"},
			want: map[string]string{"SHARED": "declared"},
		},
		{
			name: "the last one that is declared counts", c: corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "$(A)"}, {Name: "A", Value: "$(A)2"}, {Name: "C", Value: "$(A)$(D)"}, {Name: "D"}}},
			allowed: []string{"A", "B", "C", "D"}, want: map[string]string{"A": "12", "B": "1", "C": "12$(D)", "D": ""},
		},
		{
			name: "an optional key leaves what the sources have", c: corev1.Container{EnvFrom: all, Env: []corev1.EnvVar{configMapKey("SHARED", "app", "NONE", true), secretKey("GONE", "none", "x", true)}},
			allowed: []string{"SHARED", "GONE"}, want: map[string]string{"SHARED": "from more"}, missing: []string{"GONE"},
			reads: []string{"configmap/app", "configmap/more", "secret/none"},
		},
		{
			name: "what a value refers to is read and not passed", c: corev1.Container{Env: []corev1.EnvVar{secretKey("PW", "db", "password", false), secretKey("OTHER", "unused", "x", false), {Name: "URL", Value: "u:$(PW)@h $$(PW) $(NONE)"}}},
			allowed: []string{"URL"}, want: map[string]string{"URL": "u:s3cret-password@h $(PW) $(NONE)"}, reads: []string{"secret/db"},
		},
		{
			name: "a pod's fields", allowed: []string{"*"}, edit: func(q *Request) { q.Live = live },
			c: corev1.Container{Env: []corev1.EnvVar{
				fieldRef("NAME", "metadata.name"), fieldRef("NS", "metadata.namespace"), fieldRef("UID", "metadata.uid"), fieldRef("LABEL", "metadata.labels['app']"), fieldRef("NO", "metadata.annotations['x/y']"),
				fieldRef("NODE", "spec.nodeName"), fieldRef("SA", "spec.serviceAccountName"), fieldRef("IP", "status.podIP"), fieldRef("IPS", "status.podIPs"), fieldRef("HOST", "status.hostIP"),
			}},
			want: map[string]string{"NAME": "api-5", "NS": "shop", "UID": "u-1", "LABEL": "api", "NO": "", "NODE": "node-1", "SA": "default", "IP": "10.1.1.1", "IPS": "10.1.1.1,fd::1", "HOST": "10.2.2.2"},
		},
		{
			name: "resources", allowed: []string{"*"}, edit: func(q *Request) { q.Live = live }, reads: []string{"node/node-1"},
			c: corev1.Container{
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1500Ki")}, Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}},
				Env:       []corev1.EnvVar{resourceRef("MEM", "limits.memory", "1Mi"), resourceRef("CPU", "requests.cpu", "1m"), resourceRef("ONE", "requests.cpu", ""), resourceRef("NODES", "limits.cpu", ""), resourceRef("NONE", "requests.memory", "")},
			},
			want: map[string]string{"MEM": "2", "CPU": "250", "ONE": "1", "NODES": "4", "NONE": "0"},
		},
		{
			name: "links to Services only if they are listed", c: corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "http://$(WEB_API_SERVICE_HOST):$(WEB_API_SERVICE_PORT_HTTP)"}}},
			allowed: []string{"*", "WEB_API_PORT_53_UDP_ADDR", "WEB_API_PORT", "WEB_API_SERVICE_PORT", "REDIS_PORT"},
			want:    map[string]string{"A": "http://10.0.0.7:80", "WEB_API_PORT_53_UDP_ADDR": "10.0.0.7", "WEB_API_PORT": "tcp://10.0.0.7:80", "WEB_API_SERVICE_PORT": "80"},
			reads:   []string{"service/shop/redis", "service/shop/web-api"}, missing: []string{"REDIS_PORT"},
		},
		{
			name: "a link that may not be read is none", allowed: []string{"HIDDEN_PORT"}, reads: []string{"service/shop/hidden"}, missing: []string{"HIDDEN_PORT"},
		},
		{
			name: "no links where the pod has none", allowed: []string{"WEB_API_PORT"}, edit: func(q *Request) { q.Pod.Spec.EnableServiceLinks = new(bool) }, missing: []string{"WEB_API_PORT"},
		},
		{
			name: "what is given here is not read", c: corev1.Container{Env: []corev1.EnvVar{secretKey("A", "db", "password", false), secretKey("B", "db", "password", false), {Name: "C", Value: "c"}}},
			allowed: []string{"*"}, edit: func(q *Request) {
				q.Run.Set, q.DotEnv, q.DotEnvName = map[string]string{"A": "set", "D": "set"}, []byte("A=file\nB=file\nE=file\n"), ".env"
			},
			want: map[string]string{"A": "set", "B": "file", "C": "c", "D": "set", "E": "file"},
		},
		{
			name: "an address in a Secret", c: corev1.Container{Env: []corev1.EnvVar{secretKey("DATABASE_URL", "db", "url", false)}}, allowed: []string{"DATABASE_URL"}, reads: []string{"secret/db"},
			edit: func(q *Request) {
				q.Run.Forwards = []catalogue.RunForward{{Service: "postgres", Port: 5432, Env: []string{"DATABASE_URL"}}}
				q.Addresses = map[string]string{"postgres:5432": "127.0.0.1:15432"}
			},
			want: map[string]string{"DATABASE_URL": "postgres://ann:pass%40word@127.0.0.1:15432/shop"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, q := shop(), request(tt.c, tt.allowed...)
			r.forbidden = map[string]bool{"service/shop/hidden": true}
			if tt.edit != nil {
				tt.edit(&q)
			}
			e, err := Resolve(t.Context(), r, q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, environ(e), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.reads, r.reads(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("read: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tt.missing, e.Missing, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("missing: -want +got\n%s", diff)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		c    corev1.Container
		edit func(*Request)
		want []string
	}{
		{"everything at once", corev1.Container{Env: []corev1.EnvVar{
			configMapKey("A", "app", "NONE", false), secretKey("B", "none", "x", false), fieldRef("C", "metadata.name"), resourceRef("D", "limits.cpu", ""), fieldRef("E", "spec.hostname"), secretKey("F", "hidden", "x", false), resourceRef("G", "limits.gpu", ""),
			{Name: "H", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{}}},
		}, EnvFrom: []corev1.EnvFromSource{fromSecret("absent", "")}}, nil, []string{
			"resolve the environment of container main in namespace shop: ",
			"variable A: ConfigMap shop/app has no key NONE", "variable B: there is no Secret shop/none", "variable C: field metadata.name is a pod's, and no pod of the workload runs",
			"variable D: limits.cpu is what the node has, as the container sets none, and no pod of the workload runs", "variable E: the downward API has no field spec.hostname",
			"variable F: read Secret shop/hidden: ", "Get the right to do it: verb get on secrets with the resource name hidden", "variable G: the downward API has no resource limits.gpu",
			"variable H: comes from a file that a container of the pod writes", "variables *: there is no Secret absent",
		}},
		{"a link that may not be read", corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "$(HIDDEN_PORT)"}}}, nil, []string{"variable A: read Service shop/hidden: "}},
		{"no container", corev1.Container{}, func(q *Request) { q.Container = "other" }, []string{`the pod has no container "other"`}},
		{"a .env file", corev1.Container{}, func(q *Request) { q.Run.EnvFile, q.DotEnv = "api/.env", []byte("A") }, []string{"api/.env:1: "}},
		{"a zero byte", corev1.Container{Env: []corev1.EnvVar{secretKey("A", "binary", "x", false)}}, nil, []string{"variable A (Secret shop/binary, key x): has a zero byte"}},
		{"growing values", corev1.Container{Env: growing()}, nil, []string{"variable V17: becomes longer than any process can be started with (128 KiB)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, q := shop(), request(tt.c, "*")
			r.secrets["binary"] = map[string]string{"x": "canary\x00"}
			r.forbidden = map[string]bool{"secret/hidden": true, "service/shop/hidden": true}
			if tt.edit != nil {
				tt.edit(&q)
			}
			e, err := Resolve(t.Context(), r, q)
			if err == nil || len(e.Vars) > 0 {
				t.Fatalf("got %v", e)
			}
			for _, want := range tt.want {
				if !strings.Contains(strings.ReplaceAll(err.Error(), "Secret shop/absent", "Secret absent"), want) {
					t.Errorf("got\n%v\nwant %s", err, want)
				}
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("a value is in %v", err)
			}
		})
	}
}

// growing are variables each of which is twice the one before.
func growing() []corev1.EnvVar {
	list := []corev1.EnvVar{{Name: "V0", Value: "x"}}
	for i := range 40 {
		list = append(list, corev1.EnvVar{Name: fmt.Sprintf("V%d", i+1), Value: strings.Repeat(fmt.Sprintf("$(V%d)", i), 2) + "x"})
	}
	return list
}

// The values of secrets are known, with the parts of them that are secret alone and
// as they were before they were rewritten.
func TestSecrets(t *testing.T) {
	t.Parallel()
	r := shop()
	r.secrets["key"] = map[string]string{"pem": "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34Gky\nshort\n-----END KEY-----\n"}
	q := request(corev1.Container{Env: []corev1.EnvVar{
		secretKey("PW", "db", "password", false), {Name: "DSN", Value: "pw is $(PW)"}, secretKey("DATABASE_URL", "db", "url", false), secretKey("KEY", "key", "pem", false),
		{Name: "API_TOKEN", Value: "literal-token"}, {Name: "HEADER", Value: "Bearer $(API_TOKEN)"}, {Name: "PLAIN", Value: "plain-value"}, {Name: "QUEUE", Value: "amqp://u:queue-pass@q/"},
	}}, "DSN", "DATABASE_URL", "KEY", "HEADER", "PLAIN", "QUEUE", "LOCAL")
	q.Run.Forwards = []catalogue.RunForward{{Service: "postgres", Port: 5432, Env: []string{"DATABASE_URL"}}}
	q.Addresses = map[string]string{"postgres:5432": "127.0.0.1:15432"}
	q.DotEnv, q.DotEnvName = []byte("LOCAL=plain-local\nMY_SECRET=local-secret"), ".env"
	e, err := Resolve(t.Context(), r, q)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34Gky\nshort\n-----END KEY-----", "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34Gky\nshort\n-----END KEY-----\n", "Bearer literal-token", "MIIBOgIBAAJBAKj34Gky",
		"amqp://u:queue-pass@q/", "literal-token", "local-secret", "pass%40word", "pass@word", "postgres://ann:pass%40word@127.0.0.1:15432/shop", "postgres://ann:pass%40word@postgres:5432/shop",
		"pw is s3cret-password", "queue-pass", "s3cret-password",
	}
	if diff := cmp.Diff(want, e.Secrets()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for name, want := range map[string]bool{"DSN": true, "DATABASE_URL": true, "HEADER": true, "PLAIN": false, "QUEUE": true, "LOCAL": false, "MY_SECRET": true} {
		if v, ok := e.Lookup(name); !ok || v.Secret != want {
			t.Errorf("%s: %v, secret %t", name, v, v.Secret)
		}
	}
	if v, ok := e.Lookup("PW"); ok {
		t.Errorf("%v is passed", v)
	}
}

func TestSecretParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":            nil,
		" padded\n":   {" padded\n", "padded"},
		"amqp://:p@h": {"amqp://:p@h", "p"},
		`{"private_key": "-----BEGIN\nMIIBOgIBAAJBAKj34Gky\n", "id": "x", "in": [{"client-secret": "inner"}], "n": 1}`: {
			"-----BEGIN\nMIIBOgIBAAJBAKj34Gky", "-----BEGIN\nMIIBOgIBAAJBAKj34Gky\n", "MIIBOgIBAAJBAKj34Gky", "inner",
			`{"private_key": "-----BEGIN\nMIIBOgIBAAJBAKj34Gky\n", "id": "x", "in": [{"client-secret": "inner"}], "n": 1}`,
		},
		"user=ann\nspring.datasource.password = 'quoted'\nsecret: y\nurl: http://a.example": {
			"quoted", "y", "spring.datasource.password = 'quoted'", "url: http://a.example",
			"user=ann\nspring.datasource.password = 'quoted'\nsecret: y\nurl: http://a.example",
		},
	} {
		set := secretSet{}
		set.add(text)
		var got []string
		for _, s := range set.list() {
			got = append(got, s.text())
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
}

// Names says what Resolve will give values to, and reads nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	q := request(corev1.Container{
		EnvFrom: []corev1.EnvFromSource{fromConfigMap("app", ""), fromSecret("db", "DB_"), fromConfigMap("more", "X_")},
		Env: []corev1.EnvVar{
			{Name: "A", Value: "a"}, configMapKey("B", "app", "b", false), secretKey("C", "db", "c", false), fieldRef("D", "metadata.name"), resourceRef("E", "limits.cpu", ""),
			{Name: "B", Value: "twice"}, {Name: "NOT", Value: "allowed"},
		},
	}, "A", "B", "C", "D", "E", "F", "DB_*")
	q.Run.Set, q.DotEnv, q.DotEnvName = map[string]string{"C": "set"}, []byte("G=file"), "my.env"
	q.Run.Ports, q.Run.Files = []catalogue.RunPort{{Port: 1, Local: 2, Env: []string{"A", "PORT"}}}, []catalogue.RunFiles{{Path: "/a", Env: []string{"DIR"}}}
	got, err := Names(q)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"name":"A","from":"the manifest","rewritten":true},{"name":"B","from":"the manifest"},{"name":"C","from":"pharos.yaml, run.set"},` +
		`{"name":"D","from":"the pod's metadata.name"},{"name":"DB_*","from":"ConfigMap shop/app"},{"name":"DB_*","from":"Secret shop/db"},` +
		`{"name":"DIR","from":"pharos.yaml, run.files","rewritten":true},{"name":"E","from":"the container's limits.cpu"},{"name":"F","from":"ConfigMap shop/app"},` +
		`{"name":"G","from":"my.env"},{"name":"PHAROS_FILES","from":"pharos.yaml, run.files"},{"name":"PORT","from":"pharos.yaml, run.ports","rewritten":true}]`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	q.Container = "none"
	if _, err := Names(q); err == nil {
		t.Error("a container that does not exist has names")
	}
}

// A Go program gets the arguments of the manifest, unless a secret is among them.
func TestArgs(t *testing.T) {
	t.Parallel()
	c := corev1.Container{
		Command: []string{"/api", "serve", "$(LEVEL)"}, Args: []string{"--web=$(WEB_API_SERVICE_HOST)", "$$(LEVEL)", "$(NONE)"},
		Env: []corev1.EnvVar{configMapKey("LEVEL", "app", "LOG", false), secretKey("PW", "db", "password", false), {Name: "DSN", Value: "at $(PW)"}},
	}
	q := request(c)
	q.Args = true
	e, err := Resolve(t.Context(), shop(), q)
	if err != nil || len(e.Vars) > 0 {
		t.Fatal(e, err)
	}
	if diff := cmp.Diff([]string{"serve", "info", "--web=10.0.0.7", "$(LEVEL)", "$(NONE)"}, e.Args); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	q.Pod.Spec.Containers[0].Args = []string{"a", "--dsn=$(DSN)"}
	_, err = Resolve(t.Context(), shop(), q)
	if want := "argument 4 of the container: variable DSN (the manifest): is a secret"; err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v, want %s", err, want)
	}
	q.Pod.Spec.Containers[0].Env = append(q.Pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "API_TOKEN", Value: "s3cret"})
	q.Pod.Spec.Containers[0].Args = []string{"$(API_TOKEN)"}
	if _, err = Resolve(t.Context(), shop(), q); !errors.Is(err, errSecretArgument) || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	q.Args = false
	r := shop()
	if e, err := Resolve(t.Context(), r, q); err != nil || e.Args != nil || len(r.reads()) > 0 {
		t.Error(e.Args, err, r.reads())
	}
	if q.Pod.Spec.Containers[0].Command[1] != "serve" || len(q.Pod.Spec.Containers[0].Command) != 3 {
		t.Error("the request is changed")
	}
}
