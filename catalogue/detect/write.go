package detect

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// writer writes YAML by hand, since comments belong to it.
type writer struct{ strings.Builder }

func (w *writer) linef(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// comment wraps a text at a width that editors show.
func (w *writer) comment(indent, text string) {
	const width = 96
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return '?'
	}, text)
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(indent)+2+len(line)+1+len(word) > width {
			w.linef("%s# %s", indent, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	w.linef("%s# %s", indent, line)
}

func (d *detection) write(targets []target) []byte {
	w := &writer{}
	w.comment("", "Written by kubectl pharos init from what the repository holds. Comments say where each guess comes from: correct what is wrong, and see what kubectl pharos images --check says.")
	w.linef("apiVersion: %s\nkind: %s", catalogue.APIVersion, catalogue.KindCatalogue)
	if len(d.images) == 0 {
		if d.left {
			w.comment("", "Nothing makes an image yet: the comments below say why.")
		} else {
			w.comment("", "No Go program and no Dockerfile was found.")
		}
		w.linef("images: []")
	} else {
		w.linef("images:")
	}
	for _, c := range d.images {
		w.image(c)
	}
	for _, note := range d.notes {
		w.comment("", note+".")
	}
	delivery := append(d.deliveryFolders(), ownFiles)
	w.comment("", deliveryWhy(len(delivery) > 1))
	w.list("", "delivery", delivery)
	if neutral := d.neutralPatterns(); len(neutral) > 0 {
		w.comment("", "A change of these does nothing, where they are no image's inputs. What stands in neither list is delivered, with a hint.")
		w.list("", "neutral", neutral)
	}
	for _, t := range targets {
		w.target(t)
	}
	if len(targets) == 0 {
		w.comment("", "No kustomization was found, so nothing says what to deliver. Beside one, a document of kind Target says where to.")
	}
	return []byte(w.String())
}

func deliveryWhy(manifests bool) string {
	if manifests {
		return "A change of these is delivered: what the kustomizations read, and this file and pharos.lock."
	}
	return "A change of these is delivered: this file and pharos.lock."
}

func (w *writer) image(c *candidate) {
	what := "Built by " + c.path + "."
	if c.kind == catalogue.BuildGo {
		what = "The Go program " + c.importPath + "."
	}
	w.comment("", what+" Its name is "+c.why+".")
	for _, text := range c.comments {
		w.comment("", text)
	}
	w.linef("- name: %s", scalar(c.name))
	w.linef("  build:")
	if c.kind == catalogue.BuildDockerfile {
		w.linef("    dockerfile:\n      path: %s", scalar(c.path))
		w.mounts("secrets", "What its RUN lines mount. Values are given to kubectl pharos reconcile --secret, and to Jobs by a Secret.", c.dockerfile.secrets)
		w.mounts("ssh", "The SSH agents that its RUN lines mount.", c.dockerfile.ssh)
	} else {
		w.linef("    go:\n      package: %s", scalar(c.path))
		if c.toolchain != "" {
			w.comment("      ", c.toolchainWhy)
			w.linef("      toolchain: %s", scalar(c.toolchain))
		}
	}
	w.comment("  ", c.basis)
	w.list("  ", "inputs", c.inputs)
}

// mounts writes what a Dockerfile mounts, if it does.
func (w *writer) mounts(key, why string, ids []string) {
	if len(ids) > 0 {
		w.comment("      ", why)
		w.list("      ", key, ids)
	}
}

func (w *writer) list(indent, key string, items []string) {
	w.linef("%s%s:", indent, key)
	for _, item := range items {
		w.linef("%s- %s", indent, scalar(item))
	}
}

func (w *writer) target(t target) {
	w.linef("---\napiVersion: %s\nkind: %s", catalogue.APIVersion, catalogue.KindTarget)
	w.comment("", t.nameWhy)
	w.linef("metadata:\n  name: %s\nspec:", scalar(t.name))
	if t.context != "" {
		w.linef("  context: %s", scalar(t.context))
	} else {
		w.linef("  # context: NAME (without it, the kubeconfig's current one)")
	}
	w.comment("  ", t.registryWhy)
	w.linef("  registry:\n    push: %s", scalar(t.registry))
	if t.insecure {
		w.linef("    insecure: true")
	}
	w.comment("  ", t.overlayWhy)
	w.linef("  overlay: %s", scalar(t.overlay))
}

// plain is a text that YAML reads as itself without quotes.
var plain = lazyregexp.New(`^(?:(?:--|\.)?[A-Za-z_]|\./[A-Za-z0-9_])[A-Za-z0-9_./@:+*?-]*[A-Za-z0-9_*?]$`)

// scalar writes a text as a YAML string.
func scalar(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan":
	default:
		if plain.MatchString(s) && !strings.Contains(s, ": ") {
			return s
		}
	}
	return quoted(s)
}
