package journal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// secret is what is to be found in the file alone.
const secret = "-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----\n"

// document is one that has everything.
func document(namespace string) journal.Document {
	text := func(s string) json.RawMessage { return json.RawMessage(`"registry.example/shop/` + s + `"`) }
	agent := "pharos-agent@sha256:" + strings.Repeat("a", 64)
	return journal.Document{
		Session: "S1", Target: "devbox", Namespace: namespace, Cluster: "5f0c8a52-8f4e-4f8f-b1f6-7a5a5b0f0a11",
		Holder: "H1", Token: 7, User: "ann@desk", Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Step: journal.Diverted, Silence: 120, Key: secret,
		Workloads: []journal.Workload{{State: journal.Diverting, Diversion: divert.Diversion{
			Subject: divert.Subject{Namespace: "shop", Name: "api", Container: "api"},
			UID:     "5f0c8a52", ResourceVersion: "9", Generation: 3, Agent: "registry.example/shop/" + agent,
			Values: []divert.Value{
				{Field: "/image", Original: text("api@sha256:" + strings.Repeat("1", 64)), Agent: text(agent)},
				{Field: "/command", Original: json.RawMessage(`["/bin/api"]`), Agent: json.RawMessage(`["/pharos-agent","run"]`)},
			},
			Original: json.RawMessage(`{"metadata":{"name":"api","generation":9007199254740993},"spec":{"b":1,"a":2}}`),
		}}},
	}
}

func encoded(t testing.TB, d journal.Document) string {
	t.Helper()
	data, err := journal.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
