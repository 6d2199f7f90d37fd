package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/dockerfile"
)

func (k *check) dockerfile() error {
	b := *k.image.Build.Dockerfile
	file := path.Clean(b.Path)
	content, err := k.tree.ReadFile(k.ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // catalogue.Check says so
	}
	if err != nil {
		return err
	}
	parsed, err := dockerfile.Parse(file, content)
	if err != nil {
		return nil // so too
	}
	read, known := map[string]bool{}, true
	said := map[string]bool{}
	say := func(s dockerfile.Source, what string) {
		message := fmt.Sprintf("%s:%d: %s %s", file, s.Line, s.Path, what)
		if !said[message] {
			said[message] = true
			k.add(catalogue.Finding{Path: file, Message: message})
		}
	}
	for _, platform := range k.image.Platforms {
		plan, err := parsed.Plan(dockerfile.Options{Target: b.Target, Args: b.Args, Platform: platform})
		if err != nil {
			return nil // so too
		}
		reads, err := plan.Reads(k.ctx, k.tree)
		if err != nil {
			return err
		}
		for _, name := range reads.Files {
			read[name] = true
		}
		for _, s := range reads.Missing {
			say(s, "matches no file of the tree: "+s.Reason)
		}
		for _, s := range reads.Unknown {
			known = false
			say(s, "cannot be compared with the inputs: "+s.Reason)
		}
	}
	var left []string
	for _, name := range k.paths {
		if read[name] && !k.image.Inputs.Match(name) {
			if _, onPurpose := excludedBy(k.image.Inputs, name); !onPurpose {
				left = append(left, name)
			}
		}
	}
	for _, c := range k.cover(left, read) {
		k.leftOut(c, "is read by "+file+", which would be built without it")
	}
	if known {
		k.unread(func(name string) bool { return read[name] }, file)
	}
	return nil
}
