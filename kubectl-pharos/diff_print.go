package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// diffFile is an object as a file of YAML on both sides, empty where it is not
// there.
type diffFile struct {
	name         string // as kubectl diff names it
	live, merged []byte
}

func filesOf(changes []lifecycle.Comparison) ([]diffFile, error) {
	var files []diffFile
	for _, c := range changes {
		f := diffFile{name: diffName(c.Object)}
		var err error
		if f.live, err = asYAML(c.Live); err != nil {
			return nil, err
		}
		if f.merged, err = asYAML(c.Merged); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// diffName is the name of an object's file. What is no name on every file system
// is in none of its parts but roles', which may have colons.
func diffName(o receipt.Object) string {
	parts := []string{o.Version, o.Kind, o.Namespace, o.Name}
	if o.Group != "" {
		parts = append([]string{o.Group}, parts...)
	}
	return strings.NewReplacer(":", "-", "/", "-").Replace(strings.Join(parts, "."))
}

func asYAML(doc []byte) ([]byte, error) {
	if doc == nil {
		return nil, nil
	}
	return yaml.JSONToYAML(doc)
}

// unified prints the differences in the form of diff -u.
func (o *diffOptions) unified(files []diffFile) error {
	for _, f := range files {
		if _, err := o.Out.Write(diff.Diff("LIVE/"+f.name, f.live, "MERGED/"+f.name, f.merged)); err != nil {
			return err
		}
	}
	return nil
}

type diffFields struct {
	Target   string              `json:"target"`
	Commit   string              `json:"commit,omitempty"`
	Changes  []diffChange        `json:"changes"`
	Orphans  []receipt.Object    `json:"orphans"`
	Findings []lifecycle.Finding `json:"findings,omitempty"`
	failure
}

type diffChange struct {
	lifecycle.Change
	Live   json.RawMessage `json:"live,omitempty"`
	Merged json.RawMessage `json:"merged,omitempty"`
}

// printFields prints for programs, which get an answer after a failure too.
func (o *diffOptions) printFields(ctx context.Context, commit, target string, d lifecycle.Diff, err error) error {
	f := diffFields{Target: target, Commit: commit, Changes: []diffChange{}, Orphans: append([]receipt.Object{}, d.Orphans...), Findings: d.Findings}
	for _, c := range d.Changes {
		f.Changes = append(f.Changes, diffChange{c.Change, c.Live, c.Merged})
	}
	f.failure = failureOf(ctx, err)
	obj, err := newObject("Diff", target, f)
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}
