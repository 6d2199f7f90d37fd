//lint:file-ignore SA1019 Overlays still use these fields.

package render

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// kfile is a kustomization file being scanned.
type kfile struct {
	*scanner
	path    string // of the file
	dir     string // what its entries are relative to
	content []byte
	weight  int
	configs []config // of plugins
}

func (f *kfile) problem(field, entry string, err error) {
	f.problems = append(f.problems, &Problem{
		File: f.path, Line: fieldLine(f.content, field), Field: field, Entry: shown(entry), Err: err,
	})
}

var (
	yamlLine     = lazyregexp.New(`yaml: line (\d+): `)
	unknownField = lazyregexp.New(`unknown field "([^"]+)"`)
	wrongType    = lazyregexp.New(`cannot unmarshal (\w+) into Go struct field \w+\.([\w.]+) of type`)
)

// malformed reports a kustomization that cannot be parsed, at the line that
// the parser says, or at the field that it does not know.
func (f *kfile) malformed(err error) {
	p := &Problem{File: f.path, Err: err}
	p.Line, p.Err = lineOf(err)
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		p.Line, p.Field = keyLine(f.content, m[1]), m[1]
		p.Err = errors.New("kustomize knows no such field here")
	}
	if m := wrongType.FindStringSubmatch(err.Error()); m != nil {
		p.Field = m[2]
		p.Line = keyLine(f.content, m[2][strings.LastIndex(m[2], ".")+1:])
		p.Err = fmt.Errorf("kustomize wants something else here than a %s", m[1])
	}
	f.problems = append(f.problems, p)
}

// lineOf takes the line out of a YAML parser's error.
func lineOf(err error) (int, error) {
	msg := err.Error()
	loc := yamlLine.FindStringSubmatchIndex(msg)
	if loc == nil {
		return 0, err
	}
	line, _ := strconv.Atoi(msg[loc[2]:loc[3]])
	return line, errors.New(msg[loc[1]:])
}

// each hands the entries of a list to check.
func (f *kfile) each(field string, entries []string, check func(field, entry string)) {
	for i, entry := range entries {
		check(fmt.Sprintf("%s[%d]", field, i), entry)
	}
}

// find resolves an entry in the tree.
func (f *kfile) find(field, entry string) (node, bool) {
	f.weight++
	if f.weight > maxExpansion {
		f.tooMany(field)
		return node{}, false
	}
	n, err := f.lookup(entry)
	if err != nil {
		f.problem(field, entry, err)
		return node{}, false
	}
	return n, true
}

func (f *kfile) lookup(entry string) (node, error) {
	if strings.TrimSpace(entry) == "" {
		return node{}, errors.New("is empty")
	}
	if remote(entry) {
		return node{}, ErrRemote
	}
	p, err := join(f.dir, entry)
	if err != nil {
		return node{}, err
	}
	return f.tree.resolve(p)
}

func (f *kfile) tooMany(field string) {
	f.problem(field, "", fmt.Errorf("%w: with it the overlay uses more than %d files and kustomizations", ErrTooLarge, maxExpansion))
}

// file checks an entry that names a file, and reads it.
func (f *kfile) file(field, entry string) { f.readFile(field, entry) }

func (f *kfile) readFile(field, entry string) ([]byte, bool) {
	n, ok := f.find(field, entry)
	if !ok {
		return nil, false
	}
	b, err := f.tree.read(n.path)
	if err != nil {
		f.problem(field, entry, err)
		return nil, false
	}
	return b, true
}

// resource checks an entry that names a file of objects or a base. In a
// folder of plugins' configurations each object is one.
func (f *kfile) resource(as use) func(field, entry string) {
	return func(field, entry string) {
		n, ok := f.find(field, entry)
		if !ok {
			return
		}
		if n.isDir() {
			f.folder(field, entry, n.path, as)
			return
		}
		b, err := f.tree.read(n.path)
		if err != nil {
			f.problem(field, entry, err)
			return
		}
		f.manifests = append(f.manifests, manifest{path: n.path, content: b})
		if as == useConfigs {
			f.configs = append(f.configs, f.configFile(field, n.path, b)...)
		}
	}
}

func (f *kfile) component(field, entry string) {
	n, ok := f.find(field, entry)
	if !ok {
		return
	}
	if !n.isDir() {
		f.problem(field, entry, errors.New("a component is a folder, this is a file"))
		return
	}
	f.folder(field, entry, n.path, useComponent)
}

// folder scans the kustomization in a folder that an entry names.
func (f *kfile) folder(field, entry, dir string, as use) {
	for _, open := range f.stack {
		if dir == "." || open == dir || strings.HasPrefix(open, dir+"/") {
			f.problem(field, entry, fmt.Errorf("%w: the kustomization %s is being used by %s; a folder cannot use one that contains it", ErrCycle, dir, open))
			return
		}
	}
	if len(f.stack) >= maxDepth {
		f.problem(field, entry, fmt.Errorf("%w: kustomizations use each other more than %d deep", ErrTooLarge, maxDepth))
		return
	}
	u := f.kustomization(dir, as)
	for _, c := range u.configs {
		c.field = field
		f.configs = append(f.configs, c)
	}
	if f.weight += u.weight; f.weight > maxExpansion {
		f.tooMany(field)
		f.weight = maxExpansion
	}
}

func (f *kfile) crd(field, entry string) {
	b, ok := f.readFile(field, entry)
	if !ok {
		return
	}
	if err := checkCRDs(b); err != nil {
		f.problem(field, entry, err)
	}
}

func (f *kfile) openapi(field map[string]string) {
	if len(field) > 0 {
		f.schema = true
	}
	entry, ok := field["path"]
	if !ok {
		return
	}
	b, ok := f.readFile("openapi.path", entry)
	if !ok {
		return
	}
	plain, err := checkSchema(b)
	if err != nil {
		f.problem("openapi.path", entry, err)
		return
	}
	n, err := f.lookup(entry)
	if err == nil {
		f.tree.served[n.path] = plain
	}
}

func (f *kfile) patches(k *types.Kustomization) {
	for i, p := range k.Patches {
		if p.Path != "" {
			f.file(fmt.Sprintf("patches[%d].path", i), p.Path)
		}
	}
	for i, p := range k.PatchesJson6902 {
		field := fmt.Sprintf("patchesJson6902[%d]", i)
		if p.Target == nil {
			f.problem(field, "", errors.New("has no target"))
		}
		if p.Path != "" {
			f.file(field+".path", p.Path)
		}
	}
	f.strategicPaths("patchesStrategicMerge", k.PatchesStrategicMerge)
}

func (f *kfile) strategicPaths(field string, patches []types.PatchStrategicMerge) {
	for i, p := range patches {
		// kustomize takes the entry for a patch if it parses as one.
		if _, err := f.factory.RF().SliceFromBytes([]byte(p)); err != nil {
			f.file(fmt.Sprintf("%s[%d]", field, i), string(p))
		}
	}
}

func (f *kfile) replacements(field string, rs []types.ReplacementField) {
	for i, r := range rs {
		if r.Path != "" {
			f.file(fmt.Sprintf("%s[%d].path", field, i), r.Path)
		}
	}
}

// sources checks the files of a ConfigMap or Secret generator.
func (f *kfile) sources(field string, kv types.KvPairSources) {
	for i, s := range kv.FileSources {
		field := fmt.Sprintf("%s.files[%d]", field, i)
		if strings.Count(s, "=") > 1 {
			f.problem(field, s, errors.New(`must be PATH or KEY=PATH, with at most one "="`))
			continue
		}
		if _, after, ok := strings.Cut(s, "="); ok && !remote(s) {
			s = after
		}
		f.file(field, s)
	}
	f.each(field+".envs", kv.EnvSources, f.file)
	if kv.EnvSource != "" {
		f.file(field+".env", kv.EnvSource)
	}
}

// keepSecret remembers the values of a Secret generator: kustomize's errors
// quote what they are about.
func (f *kfile) keepSecret(kv types.KvPairSources) {
	for _, l := range kv.LiteralSources {
		_, value, ok := strings.Cut(l, "=")
		if !ok {
			value = l
		}
		f.secrets = append(f.secrets, value, strings.Trim(value, `"'`))
	}
	for _, entry := range append(kv.EnvSources, kv.EnvSource) {
		n, err := f.lookup(entry)
		if err != nil {
			continue
		}
		b, err := f.tree.read(n.path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			if _, value, ok := strings.Cut(line, "="); ok {
				f.secrets = append(f.secrets, value)
			}
			f.secrets = append(f.secrets, line)
		}
	}
}
