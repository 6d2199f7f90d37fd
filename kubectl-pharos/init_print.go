package main

import (
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type draftFields struct {
	Images   []draftImage `json:"images"`
	Targets  []string     `json:"targets"`
	Notes    []string     `json:"notes"`
	Unlocked []string     `json:"unlocked"`
	File     string       `json:"file"` // the text of pharos.yaml
}

type draftImage struct {
	Name    string `json:"name"`
	Builder string `json:"builder"`
	Path    string `json:"path"`
	Why     string `json:"why"`
}

// print says what was found, what was written, and what comes next.
func (o *initOptions) print(file string, found *detect.Result) error {
	if !o.output.human() {
		return o.printDraft(found)
	}
	for _, image := range found.Images {
		linef(o.ErrOut, "image %s: %s %s; the name is %s", image.Name, image.Kind, image.Path, image.Why)
	}
	if len(found.Images) == 0 {
		linef(o.ErrOut, "no images")
	}
	var dockerfiles []string
	for _, image := range found.Images {
		if !standard.Builds(image.Kind, standard.Target{}) {
			dockerfiles = append(dockerfiles, image.Name)
		}
	}
	if len(dockerfiles) > 0 {
		linef(o.ErrOut, "note: to build from Dockerfiles (%s), a target needs a BuildKit: write spec.buildkit in %s", strings.Join(dockerfiles, ", "), catalogue.FileName)
	}
	for _, name := range found.Targets {
		linef(o.ErrOut, "target %s", name)
	}
	for _, note := range found.Notes {
		linef(o.ErrOut, "note: %s", note)
	}
	if !o.writes() {
		_, err := o.Out.Write(found.YAML)
		return err
	}
	linef(o.ErrOut, "wrote %s", file)
	linef(o.ErrOut, "Next:")
	for _, step := range next(found) {
		linef(o.ErrOut, "  %s", step)
	}
	return nil
}

// next are the commands that lead from a first pharos.yaml to a delivery.
func next(found *detect.Result) []string {
	steps := []string{"read " + catalogue.FileName + ", and correct what was guessed wrongly"}
	files := catalogue.FileName
	if len(found.Unlocked) > 0 {
		steps = append(steps, "kubectl pharos lock    # "+strings.Join(found.Unlocked, ", "))
		files += " " + catalogue.LockFileName
	}
	steps = append(steps, "kubectl pharos images --check --worktree", "git add "+files+" && git commit")
	flag := ""
	switch len(found.Targets) {
	case 0:
		return steps
	case 1:
	default:
		flag = " --target " + found.Targets[0]
	}
	return append(steps, "kubectl pharos deploy"+flag+"    # once; reconcile brings the next commits")
}

func (o *initOptions) printDraft(found *detect.Result) error {
	fields := draftFields{
		Images: []draftImage{}, Targets: append([]string{}, found.Targets...), Notes: append([]string{}, found.Notes...),
		Unlocked: append([]string{}, found.Unlocked...), File: string(found.YAML),
	}
	for _, image := range found.Images {
		fields.Images = append(fields.Images, draftImage{Name: image.Name, Builder: image.Kind, Path: image.Path, Why: image.Why})
	}
	draft, err := newObject("Draft", catalogue.FileName, fields)
	if err != nil {
		return err
	}
	return o.output.print(o.Out, draft)
}
