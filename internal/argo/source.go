package argo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path"
	"reflect"
	"strings"
)

// Source is a source of an Application, with all of its fields: what a delivery
// does not know it has to leave as it is.
type Source map[string]any

// Text returns a field that is a string; empty if it is not there or none.
func (s Source) Text(field string) string {
	text, _ := s[field].(string)
	return text
}

// Kustomize returns the source's options for kustomize; nil if there are none.
func (s Source) Kustomize() map[string]any {
	k, _ := s["kustomize"].(map[string]any)
	return k
}

// Images returns the images that the source has kustomize set, each as
// "name=repository@digest" or whatever else stands there.
func (s Source) Images() []string {
	list, _ := s.Kustomize()["images"].([]any)
	var images []string
	for _, i := range list {
		if text, ok := i.(string); ok {
			images = append(images, text)
		}
	}
	return images
}

// SameSources says whether two lists of sources ask for the same. Argo CD drops
// empty fields when it copies a source into its status.
func SameSources(a, b []Source) bool {
	return reflect.DeepEqual(normal(a), normal(b))
}

// SameFields says whether two objects have the same fields, empty ones aside.
func SameFields(a, b map[string]any) bool { return reflect.DeepEqual(withoutEmpty(a), withoutEmpty(b)) }

// HashSources is the SHA-256 over the JSON of sources with sorted keys and
// without empty fields, as "sha256:" and 64 hexadecimal digits.
func HashSources(sources []Source) string {
	data, err := json.Marshal(normal(sources)) // sorts the keys of maps
	if err != nil {
		data = nil // what came out of JSON goes into JSON
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func normal(sources []Source) []any {
	list := make([]any, len(sources))
	for i, s := range sources {
		list[i] = withoutEmpty(map[string]any(s))
	}
	return list
}

// withoutEmpty returns a value without the fields that Go's omitempty leaves
// out; nil for one that is nothing else.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e = withoutEmpty(e); e != nil {
				out[k] = e
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		if len(v) == 0 {
			return nil
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutEmpty(e)
		}
		return out
	case string:
		if v != "" {
			return v
		}
		return nil
	case bool:
		if v {
			return v
		}
		return nil
	case float64:
		if v != 0 {
			return v
		}
		return nil
	}
	return v
}

// SameRepository says whether two addresses are of the same Git repository, as
// Argo CD compares them: letters' case, a final ".git" or "/", the user, and
// Git's short form of ssh make no difference.
func SameRepository(a, b string) bool {
	return a != "" && b != "" && repository(a) == repository(b)
}

func repository(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if !strings.Contains(s, "://") {
		// user@host:path
		if host, p, ok := strings.Cut(s, ":"); ok && !strings.Contains(host, "/") {
			s = "ssh://" + host + "/" + strings.TrimPrefix(p, "/")
		}
	}
	if u, err := url.Parse(s); err == nil {
		u.User = nil
		s = u.String()
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, "/"), ".git")
}

// SamePath says whether two paths name the same folder of a tree.
func SamePath(a, b string) bool { return path.Clean("/"+a) == path.Clean("/"+b) }
