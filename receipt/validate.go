package receipt

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// InvalidError lists every rule that a record, outcome or pointers break. It is an
// ErrInvalid.
type InvalidError struct {
	What     string // "record", "outcome", "pointers"
	Findings []Finding
}

// Finding is one broken rule.
type Finding struct {
	Field   string // "images[2].digest"
	Message string
}

// Error shows the first 20 findings and counts the rest.
func (e *InvalidError) Error() string {
	const shown = 20
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s:", ErrInvalid, e.What)
	for _, f := range e.Findings[:min(len(e.Findings), shown)] {
		fmt.Fprintf(&b, "\n  %s: %s", f.Field, f.Message)
	}
	if n := len(e.Findings) - shown; n > 0 {
		fmt.Fprintf(&b, "\n  and %d more", n)
	}
	return b.String()
}

// Is reports that an InvalidError is an ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// findings collects broken rules.
type findings []Finding

func (f *findings) add(field, format string, args ...any) {
	*f = append(*f, Finding{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (f findings) err(what string) error {
	if len(f) == 0 {
		return nil
	}
	return &InvalidError{What: what, Findings: f}
}

// text wants a string that JSON can hold, and that is not empty if need is set.
func (f *findings) text(field, s string, need bool) {
	switch {
	case need && s == "":
		f.add(field, "is missing")
	case !utf8.ValidString(s):
		f.add(field, "%q is not UTF-8", clip(s))
	}
}

// word wants a string as text does, without white space and control characters.
func (f *findings) word(field, s string, need bool) {
	f.text(field, s, need)
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		f.add(field, "%q holds white space or control characters", clip(s))
	}
}

func (f *findings) digest(field, s string) {
	if !isDigest(s) {
		f.add(field, "%q is not sha256: and 64 lower-case hexadecimal digits", clip(s))
	}
}

// object wants a Git object ID: 40 hexadecimal digits, or 64 in a repository
// of the SHA-256 format.
func (f *findings) object(field, s string) {
	if (len(s) != 40 && len(s) != 64) || !isHex(s) {
		f.add(field, "%q is not a Git object ID of 40 or 64 lower-case hexadecimal digits", clip(s))
	}
}

// Validate checks the record against every rule of the format and reports all
// that it breaks in one *InvalidError, which is an ErrInvalid.
func (r Record) Validate() error {
	var f findings
	if r.APIVersion != APIVersion {
		f.add("apiVersion", "is %q, want %q", clip(r.APIVersion), APIVersion)
	}
	if r.Kind != Kind {
		f.add("kind", "is %q, want %q", clip(r.Kind), Kind)
	}
	f.word("target.name", r.Target.Name, true)
	f.word("target.clusterUID", r.Target.ClusterUID, true)
	if r.Parent != "" {
		f.digest("parent", string(r.Parent))
	}
	if r.RollbackOf != "" {
		f.digest("rollbackOf", string(r.RollbackOf))
	}
	f.object("commit", r.Commit)
	f.object("tree", r.Tree)
	f.digest("catalogue", r.Catalogue)
	f.text("renderer.name", r.Renderer.Name, true)
	f.text("renderer.version", r.Renderer.Version, true)
	f.images(r.Images)
	f.reads(r.Reads)
	f.objects("objects", r.Objects)
	return f.err("record")
}

func (f *findings) images(images []Image) {
	seen := map[string]bool{}
	for i, m := range images {
		at := fmt.Sprintf("images[%d].", i)
		f.text(at+"name", m.Name, true)
		if seen[m.Name] {
			f.add(at+"name", "%q is there twice", clip(m.Name))
		}
		seen[m.Name] = true
		f.digest(at+"fingerprint", m.Fingerprint)
		for j, p := range m.Preimage {
			f.text(fmt.Sprintf("%spreimage[%d].key", at, j), p.Key, true)
			f.text(fmt.Sprintf("%spreimage[%d].value", at, j), p.Value, false)
		}
		f.word(at+"repository", m.Repository, true)
		if last := m.Repository[strings.LastIndexByte(m.Repository, '/')+1:]; strings.ContainsAny(last, ":@") {
			f.add(at+"repository", "%q has a tag or digest", clip(m.Repository))
		}
		f.digest(at+"digest", m.Digest)
		if len(m.Platforms) == 0 {
			f.add(at+"platforms", "is missing")
		}
		for j, p := range m.Platforms {
			f.word(fmt.Sprintf("%splatforms[%d]", at, j), p, true)
		}
		f.sorted(at+"platforms", m.Platforms)
		for j, b := range m.Bases {
			f.word(fmt.Sprintf("%sbases[%d]", at, j), b, true)
		}
		f.text(at+"toolchain", m.Toolchain, false)
	}
}

func (f *findings) reads(reads []string) {
	for i, p := range reads {
		at := fmt.Sprintf("reads[%d]", i)
		f.text(at, p, true)
		if p != "" && (path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../")) {
			f.add(at, "%q is not a clean path inside the tree", clip(p))
		}
	}
	f.sorted("reads", reads)
}

// sorted wants a list in ascending byte order with nothing there twice.
func (f *findings) sorted(field string, list []string) {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			f.add(fmt.Sprintf("%s[%d]", field, i), "%q does not come after %q: want ascending order, nothing twice", clip(list[i]), clip(list[i-1]))
		}
	}
}

func (f *findings) objects(field string, objects []Object) {
	for i, o := range objects {
		at := fmt.Sprintf("%s[%d].", field, i)
		f.word(at+"group", o.Group, false)
		f.word(at+"version", o.Version, true)
		f.word(at+"kind", o.Kind, true)
		f.word(at+"resource", o.Resource, true)
		f.word(at+"namespace", o.Namespace, false)
		f.text(at+"name", o.Name, true)
		f.digest(at+"hash", o.Hash)
		if i > 0 && CompareObjects(objects[i-1], o) >= 0 {
			f.add(fmt.Sprintf("%s[%d]", field, i), "%s %s does not come after the one before: want ascending order of group, kind, namespace and name, nothing twice",
				clip(o.Kind), clip(o.Name))
		}
	}
}

// CompareObjects orders objects as a record holds them: by group, kind,
// namespace and name, each in byte order. It is 0 for the same object in
// another version.
func CompareObjects(a, b Object) int {
	return cmp.Or(
		strings.Compare(a.Group, b.Group),
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

// Validate checks pointers that are to be written or were read: Applied is an
// ID, Live an ID or empty, Repository a Git object ID in full or empty. It
// reports all that is not so in one *InvalidError, which is an ErrInvalid and
// whose fields are "applied", "live" and "repository".
func (p Pointers) Validate() error {
	var f findings
	if p.Applied == "" {
		f.add("applied", "is missing")
	} else {
		f.digest("applied", string(p.Applied))
	}
	if p.Live != "" {
		f.digest("live", string(p.Live))
	}
	if p.Repository != "" {
		f.object("repository", p.Repository)
	}
	return f.err("pointers")
}
