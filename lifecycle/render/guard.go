package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	yaml "go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	syaml "sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// What is in this file keeps input from kustomize on which it would recurse
// until the stack or the memory ends, which no recover can stop.

// maxAliased bounds the nodes of a YAML document once its aliases are
// replaced by what they stand for.
const maxAliased = 1 << 20

// An alias is a "*" in front of a name, at the beginning of a value.
var aliasToken = lazyregexp.New(`(?:^|[\s\[{,:-])\*[^\s*]`)

// maxNested bounds how deep the maps and lists of a YAML document lie in each
// other, once its aliases are replaced: the time that kustomize takes grows with
// the square of it, and more. The deepest that is known, schemas of
// CustomResourceDefinitions, have some 60.
const maxNested = 256

// checkNesting refuses YAML whose aliases contain themselves or multiply out of
// bounds, or that is nested out of bounds. kustomize replaces aliases by copies
// without a bound. Strings are looked into too, for kustomize parses inline
// patches. What is not YAML passes: kustomize reports it better.
func checkNesting(b []byte) error { return checkNestingAt(b, 0) }

func checkNestingAt(b []byte, depth int) error {
	const maxDepth = 8 // YAML in YAML in YAML
	aliased := bytes.ContainsRune(b, '&') && aliasToken.Match(b)
	if !aliased && !mayBeDeep(b) || depth > maxDepth {
		return nil
	}
	if !aliased {
		if is, err := checkNestingOfJSON(b, depth); is {
			return err
		}
	}
	for _, part := range separator.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), -1) {
		if err := checkNestingIn(part+"\n", depth); err != nil {
			return err
		}
	}
	return nil
}

// mayBeDeep says whether a text has enough of what nests in YAML, brackets and
// indentation, for its depth to be worth finding out. A level needs a bracket, or a
// column of indentation, in which a map and a list may begin.
func mayBeDeep(b []byte) bool {
	brackets, column, leading := 0, 0, true
	for _, c := range b {
		switch c {
		case '\n':
			column, leading = 0, true
			continue
		case '{', '[':
			brackets++
		}
		// "- - - a" nests in one line.
		leading = leading && (c == ' ' || c == '\t' || c == '-' || c == '?')
		if leading {
			column++
		}
		if brackets+2*column > maxNested {
			return true
		}
	}
	return false
}

// checkNestingOfJSON says whether a text is JSON, which data often is, and which
// takes far less time to look through than YAML.
func checkNestingOfJSON(b []byte, depth int) (is bool, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	for {
		token, readErr := d.ReadToken()
		switch {
		case readErr == io.EOF:
			return true, err
		case readErr != nil:
			return false, nil
		case err != nil: // it is known; whether it is JSON is not
		case d.StackDepth() > maxNested:
			err = tooDeep(1 + bytes.Count(b[:d.InputOffset()], []byte("\n")))
		case token.Kind() == '"':
			err = checkNestingAt([]byte(token.String()), depth+1)
		}
	}
}

func tooDeep(line int) error {
	return fmt.Errorf("%w: line %d: YAML is nested more than %d deep", ErrTooLarge, line, maxNested)
}

// separator is where kustomize splits a file, before any YAML parser sees it.
var separator = lazyregexp.New(`\n---.*\n`)

func checkNestingIn(part string, depth int) error {
	dec := yaml.NewDecoder(strings.NewReader(part))
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); err != nil {
			return nil // the end, or not YAML
		}
		extents := map[*yaml.Node]extent{}
		if _, err := extentOf(&doc, extents); err != nil {
			return err
		}
		for n := range extents {
			if n.Kind == yaml.ScalarNode {
				if err := checkNestingAt([]byte(n.Value), depth+1); err != nil {
					return err
				}
			}
		}
	}
}

// extent is how many nodes there are in one, and how deep they lie, with aliases
// replaced.
type extent struct{ size, depth int }

// extentOf measures what is below n, and n. A size of 0 marks a node that is being
// measured.
func extentOf(n *yaml.Node, extents map[*yaml.Node]extent) (extent, error) {
	if e, ok := extents[n]; ok {
		if e.size == 0 {
			return e, fmt.Errorf("%w: line %d: a YAML alias contains itself", ErrCycle, n.Line)
		}
		return e, nil
	}
	extents[n] = extent{}
	total := extent{size: 1}
	children := n.Content
	if n.Kind == yaml.AliasNode {
		children = []*yaml.Node{n.Alias}
	}
	for _, c := range children {
		e, err := extentOf(c, extents)
		if err != nil {
			return e, err
		}
		if total.size += e.size; total.size > maxAliased {
			return e, fmt.Errorf("%w: line %d: YAML aliases stand for more than %d nodes", ErrTooLarge, n.Line, maxAliased)
		}
		total.depth = max(total.depth, e.depth)
	}
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		total.depth++
	}
	if total.depth > maxNested {
		return total, tooDeep(n.Line)
	}
	extents[n] = total
	return total, nil
}

// checkCRDs refuses a file of the field crds whose types refer to themselves,
// or so often to each other that following all references never ends.
func checkCRDs(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return errors.New("is empty")
	}
	var types map[string]struct{ Schema spec.Schema }
	unmarshal := func(b []byte, v any) error { return syaml.Unmarshal(b, v) }
	if b[0] == '{' { // as kustomize does: the parsers differ in what they let pass
		unmarshal = json.Unmarshal
	}
	if err := unmarshal(b, &types); err != nil {
		return err
	}
	weights := map[string]int{}
	var weigh func(name string) (int, error)
	weigh = func(name string) (int, error) {
		if w, ok := weights[name]; ok {
			if w == 0 {
				return 0, fmt.Errorf("%w: the type %q refers to itself", ErrCycle, name)
			}
			return w, nil
		}
		weights[name] = 0
		total := 1
		for _, property := range types[name].Schema.Properties {
			ref := property.Ref.String()
			if _, ok := types[ref]; !ok {
				continue
			}
			w, err := weigh(ref)
			if err != nil {
				return 0, err
			}
			if total += w; total > maxExpansion {
				return 0, fmt.Errorf("%w: following the references of the type %q does not end", ErrTooLarge, name)
			}
		}
		weights[name] = total
		return total, nil
	}
	for name := range types {
		if _, err := weigh(name); err != nil {
			return err
		}
	}
	return nil
}

var definitionRef = lazyregexp.New(`^#/definitions/([A-Za-z0-9._-]+)$`)

// checkSchema refuses an OpenAPI schema that kustomize cannot parse, which is
// a panic there, and definitions that are nothing but references in a circle,
// which it follows for ever. It returns the schema as plain JSON, so that
// kustomize parses what was checked and nothing else.
func checkSchema(b []byte) ([]byte, error) {
	j, err := syaml.YAMLToJSON(b)
	if err != nil {
		return nil, err
	}
	var swagger spec.Swagger
	if err := swagger.UnmarshalJSON(j); err != nil {
		return nil, err
	}
	var doc any
	if err := json.Unmarshal(j, &doc); err != nil {
		return nil, err
	}
	if err := checkRefs(doc); err != nil {
		return nil, err
	}
	for name, s := range swagger.Definitions {
		seen := map[string]bool{name: true}
		for ref := s.Ref.String(); ref != ""; {
			m := definitionRef.FindStringSubmatch(ref)
			if m == nil || seen[m[1]] {
				return nil, fmt.Errorf("%w: the definition %q refers to itself", ErrCycle, name)
			}
			seen[m[1]] = true
			next := swagger.Definitions[m[1]]
			ref = next.Ref.String()
		}
	}
	return j, nil
}

// checkRefs lets only references to whole definitions pass, as the API
// server's own schema has them: they are the ones that checkSchema follows.
func checkRefs(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if ref, ok := value.(string); ok && strings.EqualFold(key, "$ref") && !definitionRef.MatchString(ref) {
				return fmt.Errorf("%q: only references to #/definitions/NAME are followed", ref)
			}
			if err := checkRefs(value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range v {
			if err := checkRefs(value); err != nil {
				return err
			}
		}
	}
	return nil
}
