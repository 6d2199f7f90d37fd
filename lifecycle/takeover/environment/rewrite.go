package environment

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// rewrite replaces the addresses of forwarded Services by the local ones, and the
// container's ports by those that the process listens on, in the variables that are
// declared to have them. What was written on this machine may have others.
func rewrite(values map[string]value, q Request) (notices []string, err error) {
	var errs []error
	for _, f := range q.Run.Forwards {
		if len(f.Env) == 0 {
			continue
		}
		more, err := rewriteForward(values, q, f)
		notices, errs = append(notices, more...), append(errs, err)
	}
	for _, p := range q.Run.Ports {
		for _, name := range p.Env {
			errs = append(errs, tellPort(values, name, p))
		}
	}
	return notices, errors.Join(errs...)
}

// rewriteForward rewrites the variables of one forward. Some may have the host
// alone and others the port.
func rewriteForward(values map[string]value, q Request, f catalogue.RunForward) (notices []string, err error) {
	local := q.Addresses[f.Address()]
	host, port, err := net.SplitHostPort(local)
	if err != nil {
		return nil, fmt.Errorf("forward %s: it has no local address to put into %s", f.Address(), strings.Join(f.Env, " and "))
	}
	a := &address{names: serviceNames(f, q.Namespace), port: strconv.Itoa(int(f.Port)), localHost: host, localPort: port}
	var errs []error
	var hosts, ports []string // the variables that have only that
	changed := map[string]string{}
	for _, name := range f.Env {
		v, ok := values[name]
		if !ok {
			errs = append(errs, fmt.Errorf("forward %s: there is no variable %s to put its local address into: run.env does not list it, or the container does not have it", f.Address(), name))
			continue
		}
		text, found := a.replace(v.text)
		switch {
		case a.isName(v.text):
			hosts, changed[name] = append(hosts, name), host
		case v.text == a.port:
			ports, changed[name] = append(ports, name), port
		case found:
			changed[name] = text
			if scheme := tlsScheme(v.text); scheme != "" {
				notices = append(notices, fmt.Sprintf("variable %s: the %s server at the local address shows a certificate for the Service's name", name, scheme))
			}
		case !v.local:
			errs = append(errs, fmt.Errorf("forward %s: variable %s (%s) does not have that address: looked for %s", f.Address(), name, v.from, a))
		}
	}
	if len(hosts) > 0 && len(ports) == 0 && port != a.port {
		errs = append(errs, fmt.Errorf("forward %s: variable %s has the host alone, and the local port is %s: list the variable that has the port too, or set local: %s", f.Address(), hosts[0], port, a.port))
	}
	for name, text := range changed {
		v := values[name]
		v.text = text
		values[name] = v
	}
	return notices, errors.Join(errs...)
}

// tlsScheme returns the scheme of a URL that is known to be for TLS.
func tlsScheme(text string) string {
	scheme, _, ok := strings.Cut(text, "://")
	if ok && slices.Contains([]string{"https", "wss", "rediss", "amqps", "grpcs", "ldaps", "mqtts"}, scheme) {
		return scheme
	}
	return ""
}

// serviceNames are the names that a Service is reached by from a namespace.
func serviceNames(f catalogue.RunForward, from string) []string {
	namespace := f.Namespace
	if namespace == "" {
		namespace = from
	}
	name := f.Service + "." + namespace
	names := []string{name, name + ".svc"}
	if namespace == from {
		names = append(names, f.Service)
	}
	return names
}

// tellPort puts the port that the process listens on into a variable.
func tellPort(values map[string]value, name string, p catalogue.RunPort) error {
	v, ok := values[name]
	port, local := strconv.Itoa(int(p.Port)), strconv.Itoa(int(p.Local))
	if !ok {
		values[name] = value{text: local, from: catalogue.FileName + ", run.ports", local: true}
		return nil
	}
	text, count := replaceNumber(v.text, port, local)
	switch {
	case count == 1:
		v.text = text
		values[name] = v
	case v.local:
	case count == 0:
		return fmt.Errorf("port %s: variable %s (%s) does not have that number", port, name, v.from)
	default:
		return fmt.Errorf("port %s: variable %s (%s) has that number %d times, and which one is the port cannot be said: give it a value with set", port, name, v.from, count)
	}
	return nil
}

// replaceNumber replaces a number where it stands by itself, and counts.
func replaceNumber(text, number, by string) (string, int) {
	return replaceEach(text, number, by, func(start, end int) bool {
		return (start == 0 || !isWord(text[start-1])) && (end == len(text) || !isWord(text[end]))
	})
}

// replaceEach replaces what is found of a part of a text where the condition holds,
// and counts.
func replaceEach(text, part, by string, condition func(start, end int) bool) (string, int) {
	var b strings.Builder
	count, at := 0, 0
	for {
		i := strings.Index(text[at:], part)
		if i < 0 {
			b.WriteString(text[at:])
			return b.String(), count
		}
		start, end := at+i, at+i+len(part)
		b.WriteString(text[at:start])
		if condition(start, end) {
			b.WriteString(by)
			count++
		} else {
			b.WriteString(part)
		}
		at = end
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// tellFiles tells the process where its files are.
func tellFiles(values map[string]value, q Request, files *fileSet) error {
	if len(q.Run.Files) == 0 {
		return nil
	}
	values[FilesVariable] = value{text: q.Folder, from: catalogue.FileName + ", run.files", local: true}
	var errs []error
	for _, f := range q.Run.Files {
		local := files.local(q.Folder, f.Path)
		for _, name := range f.Env {
			v, ok := values[name]
			if !ok {
				values[name] = value{text: local, from: catalogue.FileName + ", run.files", local: true}
				continue
			}
			text, found := replacePath(v.text, f.Path, local)
			if !found && !v.local {
				errs = append(errs, fmt.Errorf("files %s: variable %s (%s) does not have that path", f.Path, name, v.from))
			}
			v.text = text
			values[name] = v
		}
	}
	return errors.Join(errs...)
}

// replacePath replaces a path, or the beginning of one below it, wherever it stands
// by itself: in a list as in PATH, or behind the scheme of a URL.
func replacePath(text, path, by string) (_ string, found bool) {
	replaced, count := replaceEach(text, path, by, func(start, end int) bool {
		before := start == 0 || !isWord(text[start-1]) && !strings.ContainsRune("/.-", rune(text[start-1])) || strings.HasSuffix(text[:start], "://")
		return before && (end == len(text) || !isWord(text[end]) && !strings.ContainsRune(".-", rune(text[end])))
	})
	return replaced, count > 0
}
