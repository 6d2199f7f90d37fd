package environment

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/catalogue"
)

// Addresses in all the forms that programs have them in.
func TestRewriteAddresses(t *testing.T) {
	t.Parallel()
	forward := catalogue.RunForward{Service: "postgres", Port: 5432, Env: []string{"A"}}
	for in, want := range map[string]string{
		"postgres:5432":                                             "L:1",
		"POSTGRES:5432":                                             "L:1",
		"postgres.shop:5432":                                        "L:1",
		"postgres.shop.svc:5432":                                    "L:1",
		"postgres.shop.svc.cluster.local:5432":                      "L:1",
		"postgres.shop.svc.cluster.local.:5432":                     "L:1",
		"postgres.shop.svc.example.org:5432":                        "L:1",
		"postgres://postgres:5432/shop":                             "postgres://L:1/shop",
		"postgres://ann:pw@postgres:5432/shop?sslmode=disable":      "postgres://ann:pw@L:1/shop?sslmode=disable",
		"postgres://postgres:5432@postgres:5432/postgres":           "postgres://postgres:5432@L:1/postgres",
		"postgres://postgres@postgres/postgres":                     "postgres://postgres@L:1/postgres",
		"postgres://postgres:p%40postgres:5432@postgres.shop.svc/x": "postgres://postgres:p%40postgres:5432@L:1/x",
		"postgresql://ann@postgres":                                 "postgresql://ann@L:1",
		"postgresql://other:1,postgres,third/x":                     "postgresql://other:1,L:1,third/x",
		"jdbc:postgresql://postgres:5432/shop?user=ann":             "jdbc:postgresql://L:1/shop?user=ann",
		"jdbc:postgresql://postgres/shop":                           "jdbc:postgresql://L:1/shop",
		"custom+db://postgres/x":                                    "custom+db://L:1/x",
		"ann:pw@tcp(postgres:5432)/shop":                            "ann:pw@tcp(L:1)/shop",
		"postgres:5432@tcp(postgres:5432)/shop":                     "postgres:5432@tcp(L:1)/shop",
		"a:1,postgres:5432,postgres:5432":                           "a:1,L:1,L:1",
		"Server=postgres,5432;Database=postgres":                    "Server=L,1;Database=postgres",
		"host=postgres port=5432 user=postgres dbname=postgres":     "host=H port=1 user=postgres dbname=postgres",
		"host=postgres user=postgres":                               "host=H port=1 user=postgres",
		"user=a host='postgres.shop' port='5432'":                   "user=a host=H port=1",
		"Host=postgres;Port=5432;Password=x":                        "Host=H;Port=1;Password=x",
		"dns:///postgres:5432":                                      "dns:///L:1",
		`{"db": "postgres:5432"}`:                                   `{"db": "L:1"}`,
		"http://gate/x?to=postgres:5432":                            "http://gate/x?to=L:1",
		"my-postgres:5432":                                          "",
		"my_postgres:5432":                                          "",
		"postgres-ro:5432":                                          "",
		"postgres.other:5432":                                       "",
		"postgres.shop.other:5432":                                  "",
		"postgres-0.postgres:5432":                                  "",
		"postgres:54321":                                            "",
		"postgres:543":                                              "",
		"postgres:5433":                                             "",
		"mysql://postgres/x":                                        "",
		"postgres://ann@postgres:5433/postgres":                     "",
		"host=postgres port=5433":                                   "",
		"postgres/x":                                                "",
		"":                                                          "",
		"postgres@example.org":                                      "",
		"http://x/postgres":                                         "",
	} {
		q := Request{Namespace: "shop", Run: catalogue.Run{Forwards: []catalogue.RunForward{forward}}, Addresses: map[string]string{"postgres:5432": "127.0.0.1:15432"}}
		values := map[string]value{"A": {text: in, from: "there"}}
		_, err := rewrite(values, q)
		wanted := strings.NewReplacer("L:1", "127.0.0.1:15432", "L,1", "127.0.0.1,15432", "ost=H", "ost=127.0.0.1", "port=1", "port=15432", "Port=1", "Port=15432").Replace(want)
		switch {
		case want == "" && (err == nil || values["A"].text != in):
			t.Errorf("%q: got %q, %v", in, values["A"].text, err)
		case want != "" && (err != nil || values["A"].text != wanted):
			t.Errorf("%q: got %q, %v, want %q", in, values["A"].text, err, wanted)
		}
	}
}

func TestRewriteHostAndPort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, host, port, local string
		env                     []string
		wantHost, wantPort, err string
	}{
		{"both", "postgres", "5432", "127.0.0.1:1", []string{"HOST", "PORT"}, "127.0.0.1", "1", ""},
		{"with a domain", "postgres.shop.svc.cluster.local.", "5432", "127.0.0.1:1", []string{"HOST", "PORT"}, "127.0.0.1", "1", ""},
		{"the host alone", "postgres", "5432", "127.0.0.1:1", []string{"HOST"}, "", "",
			"variable HOST has the host alone, and the local port is 1: list the variable that has the port too, or set local: 5432"},
		{"the host alone, at the same port", "postgres", "5432", "127.0.0.1:5432", []string{"HOST"}, "127.0.0.1", "5432", ""},
		{"another port", "postgres", "5433", "127.0.0.1:1", []string{"HOST", "PORT"}, "", "", "variable PORT (there) does not have that address: looked for postgres.shop, postgres.shop.svc, postgres with port 5432"},
		{"no such variable", "postgres", "5432", "127.0.0.1:1", []string{"HOST", "NONE"}, "", "", "there is no variable NONE"},
		{"no address", "postgres", "5432", "", []string{"HOST"}, "", "", "forward postgres:5432: it has no local address to put into HOST"},
	} {
		q := Request{
			Namespace: "shop", Addresses: map[string]string{"postgres:5432": tt.local},
			Run: catalogue.Run{Forwards: []catalogue.RunForward{{Service: "postgres", Port: 5432, Env: tt.env}}},
		}
		values := map[string]value{"HOST": {text: tt.host, from: "there"}, "PORT": {text: tt.port, from: "there"}}
		_, err := rewrite(values, q)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %s", tt.name, err, tt.err)
			}
		case err != nil || values["HOST"].text != tt.wantHost || values["PORT"].text != tt.wantPort:
			t.Errorf("%s: got %v, %v", tt.name, values, err)
		}
	}
}

// What is written on this machine need not have a Service's address.
func TestRewriteLeavesLocalValues(t *testing.T) {
	t.Parallel()
	q := Request{
		Namespace: "shop", Addresses: map[string]string{"api:80": "127.0.0.1:1"},
		Run: catalogue.Run{
			Forwards: []catalogue.RunForward{{Service: "api", Port: 80, Env: []string{"A", "B", "C"}}},
			Ports:    []catalogue.RunPort{{Port: 8080, Local: 2, Env: []string{"P", "Q", "R"}}},
		},
	}
	values := map[string]value{
		"A": {text: "http://localhost:9", local: true}, "B": {text: "http://api/x", local: true}, "C": {text: "https://api:80", local: true},
		"P": {text: "9", local: true}, "Q": {text: ":8080", local: true},
	}
	notices, err := rewrite(values, q)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"A": "http://localhost:9", "B": "http://127.0.0.1:1/x", "C": "https://127.0.0.1:1", "P": "9", "Q": ":2", "R": "2"} {
		if values[name].text != want {
			t.Errorf("%s is %q, want %q", name, values[name].text, want)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "variable C: the https server at the local address shows a certificate for the Service's name") {
		t.Errorf("the notices are %q", notices)
	}
}

func TestTellPort(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"8080": "3000", ":8080": ":3000", "0.0.0.0:8080": "0.0.0.0:3000", "-p 8080": "-p 3000", "18080": "", "8080:8080": "", "": "", "x8080": ""} {
		values := map[string]value{"PORT": {text: in, from: "there"}}
		err := tellPort(values, "PORT", catalogue.RunPort{Port: 8080, Local: 3000})
		if got := values["PORT"].text; want == "" && (err == nil || got != in) || want != "" && (err != nil || got != want) {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}

func TestReplacePath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/etc/app": "/L", "/etc/app/x.yaml": "/L/x.yaml", "/a:/etc/app:/b": "/a:/L:/b", "file:///etc/app/x": "file:///L/x", "--config=/etc/app/x": "--config=/L/x",
		"/etc/apple": "", "/etc/app.d": "", "/x/etc/app": "", "etc/app": "", "": "",
	} {
		got, found := replacePath(in, "/etc/app", "/L")
		if found != (want != "") || found && got != want || !found && got != in {
			t.Errorf("%q: got %q, %t", in, got, found)
		}
	}
}

// Rewriting a value ends, whatever it is, and replaces nothing in what has no name of
// the Service.
func FuzzReplaceAddress(f *testing.F) {
	for _, in := range []string{"postgres:5432", "a://b:c@postgres/d", "host=postgres", "postgres,5432", "postgres.shop.svc.x"} {
		f.Add(in)
	}
	a := &address{names: serviceNames(catalogue.RunForward{Service: "postgres", Port: 5432}, corev1.NamespaceDefault), port: "5432", localHost: "127.0.0.1", localPort: "1"}
	f.Fuzz(func(t *testing.T, in string) {
		got, found := a.replace(in)
		if !found && got != in || found && !strings.Contains(strings.ToLower(in), "postgres") {
			t.Errorf("%q: got %q, %t", in, got, found)
		}
	})
}
