package catalogue

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/internal/strictyaml"
)

// Problem is one thing that is wrong with a file: File, Line and Column (from
// 1; 0 if not known), Field ("images[2].build.go.package") and Message.
type Problem = strictyaml.Error

// ProblemsError is the error of a file that is not well-formed. Its List holds
// a *Problem for everything that is wrong with it, in the order of the file.
type ProblemsError = strictyaml.Errors

// ErrNoCatalogue is matched by the error of Load for a tree without a
// pharos.yaml, and by that of Parse for a file without a Catalogue document.
var ErrNoCatalogue = errors.New("there is no catalogue")

// Parse reads the Catalogue document of a pharos.yaml. The name of the file is
// used for errors only.
//
// The file must have exactly one Catalogue document and may have Target
// documents, which are not looked at; a file without one is an error that
// matches ErrNoCatalogue. Every other error holds a *ProblemsError with all
// that is wrong. Defaults are filled in, paths are cleaned, and lists whose
// order does not count are sorted, so that two ways to write the same give the
// same Catalogue, but for its Digest.
func Parse(filename string, data []byte) (*Catalogue, error) {
	docs, err := strictyaml.Parse(filename, data)
	if err != nil {
		return nil, err
	}
	var found *Catalogue
	var errs []error
	for _, doc := range docs {
		switch kind := doc.Peek("kind"); {
		case kind == KindTarget:
			continue
		case kind == KindCatalogue && found == nil:
			found = parseCatalogue(doc.Root())
		case kind == KindCatalogue:
			doc.Root().Errorf("is a second %s document, and there can be only one: put the images of both into one", KindCatalogue)
		default:
			foreign(doc.Root())
		}
		errs = append(errs, doc.Err())
	}
	if err := strictyaml.Join(errs...); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("%s: %w: it needs a document with apiVersion %s and kind %s", filename, ErrNoCatalogue, APIVersion, KindCatalogue)
	}
	found.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	return found, nil
}

// foreign says what is wrong with a document that is none of ours.
func foreign(root strictyaml.Node) {
	fields := root.AnyMap()
	if kind := fields.Required("kind").String(); kind != "" {
		fields.Optional("kind").Errorf("is %q, and must be %s or %s", kind, KindCatalogue, KindTarget)
	}
}

func parseCatalogue(root strictyaml.Node) *Catalogue {
	doc := root.Map("apiVersion", "kind", "images", "delivery", "neutral")
	doc.Required("apiVersion").String(strictyaml.Equal(APIVersion))
	c := &Catalogue{
		Delivery: parsePatterns(doc.Optional("delivery"), false),
		Neutral:  parsePatterns(doc.Optional("neutral"), false),
	}
	named := map[string]bool{}
	images := doc.Optional("images").List()
	if len(images) > maxImages {
		images[maxImages].Errorf("is one image too many: there may be %d", maxImages)
		return c
	}
	c.Images = make([]Image, 0, len(images))
	for _, item := range images {
		c.Images = append(c.Images, parseImage(item, named))
	}
	return c
}

// parseImage reads an image and adds its name to those that are taken.
func parseImage(n strictyaml.Node, taken map[string]bool) Image {
	fields := n.Map("name", "build", "inputs", "platforms", "run")
	unique := func(name string) error {
		if taken[name] {
			return fmt.Errorf("is %q, and there is another image of that name", name)
		}
		taken[name] = true
		return nil
	}
	image := Image{
		Name:      fields.Required("name").String(checkImageName, unique),
		Build:     parseBuild(fields.Required("build")),
		Inputs:    parsePatterns(fields.Required("inputs"), true),
		Platforms: []string{DefaultPlatform},
	}
	if p := fields.Optional("platforms"); p.Present() {
		if image.Platforms = p.StringSet(checkPlatform); p.Empty() {
			p.Errorf("is empty: name a platform, or leave it out for %s", DefaultPlatform)
		}
	}
	if run := fields.Optional("run"); run.Present() {
		image.Run = parseRun(run, image.Build)
	}
	return image
}

// parsePatterns reads a list of patterns and, if they must choose something,
// checks that one of them includes.
func parsePatterns(n strictyaml.Node, mustChoose bool) Patterns {
	items := n.List()
	list := make([]string, 0, len(items))
	at := make([]strictyaml.Node, 0, len(items))
	includes := !mustChoose || items == nil
	for _, item := range items {
		s := item.String()
		if s != "" {
			list = append(list, s)
			at = append(at, item)
		}
		includes = includes || !strings.HasPrefix(s, "!")
	}
	if !includes {
		n.Errorf("chooses no file: an image is built from what its inputs name and from nothing else")
	}
	patterns, err := ParsePatterns(list)
	for _, e := range patternErrors(err) {
		at[e.Index].Errorf("%q: %s", e.Pattern, e.Reason)
	}
	return patterns
}

// patternErrors takes the error of ParsePatterns apart.
func patternErrors(err error) []*PatternError {
	if one, ok := err.(*PatternError); ok {
		return []*PatternError{one}
	}
	var all []*PatternError
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			all = append(all, patternErrors(e)...)
		}
	}
	return all
}
