package environment

import (
	"fmt"
	"slices"
	"strings"
)

// address is a Service's, and the local one that takes its place.
type address struct {
	names     []string // without what a cluster's domain adds to ".svc"
	port      string
	localHost string
	localPort string
}

func (a *address) String() string {
	return fmt.Sprintf("%s with port %s", strings.Join(a.names, ", "), a.port)
}

// isName says whether a text is the Service's name and nothing else.
func (a *address) isName(text string) bool {
	text = strings.ToLower(strings.TrimSuffix(text, "."))
	return slices.ContainsFunc(a.names, func(name string) bool {
		rest, ok := strings.CutPrefix(text, name)
		return ok && (rest == "" || strings.HasSuffix(name, ".svc") && rest[0] == '.' && strings.Trim(rest, hostCharacters) == "")
	})
}

const hostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-"

// replace replaces the Service's address wherever it stands in a text:
//
//	host:port       alone, in a list, in a URL, or in tcp(host:port)
//	host,port       as SQL Server has it
//	scheme://host   with userinfo or without, where the scheme's own port is the Service's or not known
//	host=… port=…   as libpq has it
func (a *address) replace(text string) (_ string, found bool) {
	var b strings.Builder
	at := 0
	for start := 0; start < len(text); {
		if !isHost(text[start]) {
			start++
			continue
		}
		end := start
		for end < len(text) && isHost(text[end]) {
			end++
		}
		if a.isName(text[start:end]) && (start == 0 || text[start-1] != '_') && !inUserinfo(text, end) {
			if with, rest, ok := a.local(text, start, end); ok {
				b.WriteString(text[at:start])
				b.WriteString(with)
				found, at, end = true, rest, rest
			}
		}
		start = max(end, start+1)
	}
	b.WriteString(text[at:])
	if found {
		return b.String(), true
	}
	return a.replaceKeywords(text)
}

func isHost(c byte) bool { return c == '.' || c == '-' || isWord(c) && c != '_' }

// local returns what takes the place of the host at start, and where the text goes
// on behind it.
func (a *address) local(text string, start, end int) (with string, rest int, ok bool) {
	if end < len(text) && (text[end] == ':' || text[end] == ',') {
		behind := end + 1
		for behind < len(text) && '0' <= text[behind] && text[behind] <= '9' {
			behind++
		}
		if text[end+1:behind] == a.port && (behind == len(text) || !isWord(text[behind])) {
			return a.localHost + text[end:end+1] + a.localPort, behind, true
		}
		if text[end] == ':' || behind > end+1 {
			return "", 0, false
		}
	}
	scheme, ok := schemeBefore(text[:start])
	if !ok || end < len(text) && !strings.ContainsRune("/?#,; \t\r\n\"')", rune(text[end])) {
		return "", 0, false
	}
	if own := schemePorts[scheme]; own != "" && own != a.port {
		return "", 0, false
	}
	return a.localHost + ":" + a.localPort, end, true
}

// schemeBefore returns the scheme of the URL whose host follows.
func schemeBefore(text string) (scheme string, ok bool) {
	at := strings.LastIndex(text, "://")
	if at < 0 {
		return "", false
	}
	between := text[at+len("://"):]
	if between != "" && (!strings.HasSuffix(between, "@") && !strings.HasSuffix(between, ",") || strings.ContainsAny(between, "/?# \t\r\n")) {
		return "", false
	}
	first := at
	for first > 0 && (isWord(text[first-1]) || strings.ContainsRune("+.-", rune(text[first-1]))) {
		first--
	}
	return strings.ToLower(text[first:at]), true
}

// schemePorts are the ports that a URL without one has
// (https://www.iana.org/assignments/service-names-port-numbers).
var schemePorts = map[string]string{
	"http": "80", "ws": "80", "https": "443", "wss": "443", "grpc": "443", "grpcs": "443",
	"postgres": "5432", "postgresql": "5432", "mysql": "3306", "mariadb": "3306", "mongodb": "27017", "sqlserver": "1433",
	"redis": "6379", "rediss": "6379", "memcached": "11211",
	"amqp": "5672", "amqps": "5671", "nats": "4222", "mqtt": "1883", "mqtts": "8883", "kafka": "9092",
	"ldap": "389", "ldaps": "636", "smtp": "25", "smtps": "465", "ftp": "21", "ssh": "22", "sftp": "22",
}

// inUserinfo says whether what ends there is a part of the userinfo, which an "@"
// ends, and not of an address.
func inUserinfo(text string, end int) bool {
	rest := text[end:]
	if stop := strings.IndexAny(rest, "/?#, \t\r\n\"'();"); stop >= 0 {
		rest = rest[:stop]
	}
	return strings.Contains(rest, "@")
}

// replaceKeywords replaces host= and port= in a text of keywords, such as
// "host=postgres port=5432 dbname=shop"
// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING).
func (a *address) replaceKeywords(text string) (_ string, found bool) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ';' })
	host, port := "", ""
	for _, f := range fields {
		key, word, _ := strings.Cut(f, "=")
		switch strings.ToLower(key) {
		case "host", "server":
			if a.isName(strings.Trim(word, `'"`)) {
				host = f
			}
		case "port":
			port = f
		}
	}
	_, number, _ := strings.Cut(port, "=")
	if host == "" || port != "" && strings.Trim(number, `'"`) != a.port {
		return text, false
	}
	separator := " "
	if strings.Contains(text, ";") {
		separator = ";"
	}
	key, _, _ := strings.Cut(host, "=")
	with := key + "=" + a.localHost
	if port == "" {
		with += separator + "port=" + a.localPort
	}
	parts := splitKeeping(text)
	for i, part := range parts {
		switch {
		case part == host:
			parts[i] = with
		case part == port && port != "":
			name, _, _ := strings.Cut(port, "=")
			parts[i] = name + "=" + a.localPort
		}
	}
	return strings.Join(parts, ""), true
}

// splitKeeping splits a text at blanks and semicolons, which stay as parts.
func splitKeeping(text string) []string {
	var parts []string
	for text != "" {
		i := strings.IndexAny(text, " ;")
		switch {
		case i < 0:
			return append(parts, text)
		case i == 0:
			parts, text = append(parts, text[:1]), text[1:]
		default:
			parts, text = append(parts, text[:i]), text[i:]
		}
	}
	return parts
}
