package wire

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxPorts = 64
	maxText  = 256
	// minAway has two signs of life lost, or late, before the silence counts.
	minAway  = 3 * KeepaliveInterval
	maxAway  = 10 * time.Minute
	maxGrace = 24 * time.Hour
)

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	namePattern = regexp.MustCompile(`^[a-z0-9-]{1,15}$`) // of a containerPort
)

func (s Session) check() error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrSession}, args...)...))
	}
	if s.Version != Version {
		add("version %d is not known, only %d is", s.Version, Version)
	}
	if !idPattern.MatchString(s.ID) {
		add("id %q is not 1 to 64 letters, digits and dashes", s.ID)
	}
	if s.PublicKey() == nil {
		add("key is no ed25519 key, 32 bytes in base64")
	}
	if s.Control == 0 {
		add("control is no port")
	}
	if len(s.Ports) > maxPorts {
		add("%d ports are more than %d", len(s.Ports), maxPorts)
	}
	for i, p := range s.Ports {
		if p.Number == 0 || p.Number == s.Control {
			add("ports[%d]: %d is no port or that of the stream", i, p.Number)
		}
		if i > 0 && p.Number <= s.Ports[i-1].Number {
			add("ports[%d]: %d does not come after %d", i, p.Number, s.Ports[i-1].Number)
		}
		if p.Name != "" && !namePattern.MatchString(p.Name) {
			add("ports[%d]: name %q is none of a port", i, p.Name)
		}
		if !validProbes(p.Probes) {
			add("ports[%d]: probes %q are not of grpc, http, tcp in this order", i, p.Probes)
		}
	}
	if !validText(s.Workload) {
		add("workload is not one line of 1 to %d bytes", maxText)
	}
	if !validText(s.Holder) {
		add("holder is not one line of 1 to %d bytes", maxText)
	}
	if s.Since.Year() < 2000 || s.Since.Year() > 9999 || s.Since.Location() != time.UTC || s.Since.Nanosecond() != 0 {
		add("since is not a time in UTC and whole seconds")
	}
	if away := time.Duration(s.Away); away < minAway || away > maxAway {
		add("away is not between %s and %s", minAway, maxAway)
	}
	if grace := time.Duration(s.Grace); grace < 0 || grace > maxGrace {
		add("grace is not between 0 and %s", maxGrace)
	}
	if s.Drain < 0 || s.Drain > s.Grace/2 {
		add("drain is not between 0 and half of grace")
	}
	return errors.Join(problems...)
}

func validProbes(probes []string) bool {
	for i, p := range probes {
		if p != ProbeGRPC && p != ProbeHTTP && p != ProbeTCP || i > 0 && p <= probes[i-1] {
			return false
		}
	}
	return probes == nil || !slices.Equal(probes, []string{})
}

func validText(s string) bool {
	return s != "" && len(s) <= maxText && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
