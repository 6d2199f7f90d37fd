package argo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
)

// monday is a Monday, at noon in UTC.
var monday = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestBlocking(t *testing.T) {
	t.Parallel()
	all := []string{"*"}
	for name, tt := range map[string]struct {
		windows []argo.Window
		blocked bool
		manual  bool
		until   string
	}{
		"none":         {},
		"open":         {windows: []argo.Window{{Kind: "deny", Schedule: "0 22 * * *", Duration: "1h", Applications: all}}},
		"denied":       {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: all}}, blocked: true, until: "13:00"},
		"manual":       {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: all, ManualSync: true}}, blocked: true, manual: true, until: "13:00"},
		"stricter":     {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: all, ManualSync: true}, {Kind: "deny", Schedule: "0 11 * * *", Duration: "3h", Applications: all}}, blocked: true, until: "14:00"},
		"longer":       {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: all}, {Kind: "deny", Schedule: "0 11 * * *", Duration: "3h", Applications: all}}, blocked: true, until: "14:00"},
		"at its start": {windows: []argo.Window{{Kind: "deny", Schedule: "0 12 * * *", Duration: "1h", Applications: all}}},
		"at its end":   {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "1h", Applications: all}}},
		"time zone":    {windows: []argo.Window{{Kind: "deny", Schedule: "0 13 * * *", Duration: "2h", Applications: all, TimeZone: "Europe/Berlin"}}},
		"in its zone":  {windows: []argo.Window{{Kind: "deny", Schedule: "30 12 * * *", Duration: "2h", Applications: all, TimeZone: "Europe/Berlin"}}, blocked: true, until: "13:30"},
		"of others":    {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: []string{"web*"}}}},
		"namespace":    {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: []string{"web*"}, Namespaces: []string{"sho?"}}}, blocked: true, until: "13:00"},
		"both wanted":  {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: []string{"web*"}, Namespaces: []string{"shop"}, AndOperator: true}}},
		"cluster":      {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Clusters: []string{"https://*"}}}, blocked: true, until: "13:00"},
		"for nothing":  {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h"}}},
		"allowed":      {windows: []argo.Window{{Kind: "allow", Schedule: "0 11 * * *", Duration: "2h", Applications: all}}},
		"not allowed":  {windows: []argo.Window{{Kind: "allow", Schedule: "0 22 * * *", Duration: "2h", Applications: all}}, blocked: true, until: "22:00"},
		"one allows":   {windows: []argo.Window{{Kind: "allow", Schedule: "0 22 * * *", Duration: "2h", Applications: all}, {Kind: "allow", Schedule: "0 11 * * *", Duration: "2h", Applications: all}}},
		"deny beats":   {windows: []argo.Window{{Kind: "allow", Schedule: "0 11 * * *", Duration: "2h", Applications: all}, {Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: all}}, blocked: true, until: "13:00"},
		"bad cron":     {windows: []argo.Window{{Kind: "allow", Schedule: "noon", Duration: "2h", Applications: all}}, blocked: true},
		"bad length":   {windows: []argo.Window{{Kind: "deny", Schedule: "0 22 * * *", Duration: "long", Applications: all}}, blocked: true},
		"every hour":   {windows: []argo.Window{{Kind: "deny", Schedule: "0 9-14 * * *", Duration: "61m", Applications: all}}, blocked: true, until: "15:01"},
		"never comes":  {windows: []argo.Window{{Kind: "deny", Schedule: "0 0 30 2 *", Duration: "1h", Applications: all}, {Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: all}}, blocked: true, until: "never"},
		"allows ever":  {windows: []argo.Window{{Kind: "allow", Schedule: "0 0 30 2 *", Duration: "1h", Applications: all}, {Kind: "allow", Schedule: "0 22 * * *", Duration: "2h", Applications: all}}},
		"braces":       {windows: []argo.Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "2h", Applications: []string{"{web,sh[n-p]p}"}}}, blocked: true, until: "13:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := argo.Blocking(tt.windows, with(t), monday)
			if (c != nil) != tt.blocked {
				t.Fatalf("got %+v", c)
			}
			if c == nil {
				return
			}
			until := "never"
			if !c.Until.IsZero() {
				until = c.Until.UTC().Format("15:04")
			}
			if c.Manual != tt.manual || tt.until != "" && until != tt.until {
				t.Errorf("until %s, manual %v: %s", c.Until, c.Manual, c.Reason)
			}
			if !strings.Contains(c.Reason, "project") {
				t.Errorf("says %q", c.Reason)
			}
		})
	}
}

func FuzzBlocking(f *testing.F) {
	f.Add("deny", "0 11 * * *", "2h", "*", "UTC")
	f.Add("allow", "59 23 31 2 *", "-1h", "[!a-", "Nowhere/Land")
	f.Add("deny", "* * * * *", "1000h", "{a,b}\\", "")
	f.Fuzz(func(t *testing.T, kind, schedule, duration, name, zone string) {
		w := argo.Window{Kind: kind, Schedule: schedule, Duration: duration, Applications: []string{name}, TimeZone: zone}
		if c := argo.Blocking([]argo.Window{w}, with(t), monday); c != nil && c.Reason == "" {
			t.Error("no reason")
		}
	})
}
