//lint:file-ignore SA1019 Overlays still use these fields.

package render

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

const (
	// maxDepth bounds kustomizations that use each other in a chain.
	maxDepth = 100
	// maxExpansion bounds the files and kustomizations that an overlay reads,
	// each as often as it is used: bases that use the same base twice, and so
	// on downwards, multiply.
	maxExpansion = 100_000
)

// scanner walks the graph of kustomizations below an overlay before kustomize
// runs. It reads all that kustomize will read, so that whatever names
// something outside of the tree is refused before kustomize, which would fetch
// it, sees it. It goes on after a problem, to report them all.
type scanner struct {
	tree    *tree
	factory *resmap.Factory

	units    map[string]*unit
	stack    []string
	problems []*Problem

	// images are the names of the images of the request.
	images []string
	// parsed are all kustomizations, and configured says that one of them sets
	// configurations.
	parsed     []parsed
	configured bool
	// schema says that a kustomization sets openapi, which changes global
	// state of kustomize.
	schema bool
	// metadata is the overlay's own buildMetadata.
	metadata []string
	// manifests are the files under resources, to find the one at fault.
	manifests []manifest
	// secrets are values of secret generators, to keep them out of messages.
	secrets []string
}

// unit is a scanned kustomization: what it weighs, and the configurations of
// plugins in it if it is used as a folder of such.
type unit struct {
	weight  int
	configs []config
}

type manifest struct {
	path    string
	content []byte
}

// use is how a kustomization is used.
type use int

const (
	useBase      use = iota // under resources
	useComponent            // under components
	useConfigs              // under generators, transformers or validators
)

func newScanner(t *tree, images []lifecycle.ImageRef) *scanner {
	s := &scanner{
		tree:    t,
		factory: resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()),
		units:   map[string]*unit{},
	}
	for _, image := range images {
		s.images = append(s.images, image.Name)
	}
	return s
}

// scan walks the graph below the overlay. Its error joins all problems.
func (s *scanner) scan(overlay string) (err error) {
	defer func() { // parsing is kustomize's
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	s.kustomization(overlay, useBase)
	if len(s.problems) == 0 {
		return s.quieten()
	}
	errs := make([]error, len(s.problems))
	for i, p := range s.problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// kustomization scans the folder dir, which has no links in it. A folder that
// is used several times is scanned once for each way of use.
func (s *scanner) kustomization(dir string, as use) *unit {
	key := fmt.Sprintf("%d:%s", as, dir)
	if u, ok := s.units[key]; ok {
		return u
	}
	u := &unit{weight: 1}
	s.units[key] = u
	s.stack = append(s.stack, dir)
	defer func() { s.stack = s.stack[:len(s.stack)-1] }()

	file, content, err := s.kustomizationFile(dir)
	if err != nil {
		s.problems = append(s.problems, &Problem{File: dir, Err: err})
		return u
	}
	f := &kfile{scanner: s, path: file, dir: dir, content: content, weight: 1}
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		f.malformed(err)
		return u
	}
	if n, err := s.tree.resolve(file); err == nil {
		s.parsed = append(s.parsed, parsed{path: n.path, k: k})
	}
	if len(s.stack) == 1 {
		s.metadata = k.BuildMetadata
	}
	f.scan(k, as)
	u.weight, u.configs = f.weight, f.configs
	return u
}

// kustomizationFile finds the one kustomization of a folder.
func (s *scanner) kustomizationFile(dir string) (string, []byte, error) {
	var found []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		p := path.Join(dir, name)
		n, err := s.tree.resolve(p)
		switch {
		case err == nil && !n.isDir():
			found = append(found, p)
		case err != nil && !errors.Is(err, source.ErrNotFound):
			return "", nil, err
		}
	}
	switch len(found) {
	case 0:
		return "", nil, fmt.Errorf("the folder has no %s: %w", konfig.DefaultKustomizationFileName(), source.ErrNotFound)
	case 1:
		content, err := s.tree.read(found[0])
		return found[0], content, err
	default:
		return "", nil, fmt.Errorf("the folder has more than one kustomization: %s", strings.Join(found, ", "))
	}
}

// scan checks one kustomization and what it names.
func (f *kfile) scan(k types.Kustomization, as use) {
	resources, bases := k.Resources, k.Bases
	images, imageTags := k.Images, k.ImageTags
	charts := "helmCharts"
	if len(k.HelmChartInflationGenerator) > 0 {
		charts = "helmChartInflationGenerator"
	}
	k.FixKustomization()

	if err := k.CheckEmpty(); err != nil {
		f.problem("", "", errors.New("the kustomization is empty"))
		return
	}
	for _, e := range k.EnforceFields() {
		f.problem("", "", errors.New(e))
	}
	switch {
	case as == useComponent && k.Kind != types.ComponentKind:
		f.problem("kind", k.Kind, fmt.Errorf("it is used as a component: its kind must be %s", types.ComponentKind))
	case as != useComponent && k.Kind == types.ComponentKind:
		f.problem("kind", k.Kind, errors.New("a component is used by listing it under components"))
	}
	if len(k.HelmCharts) > 0 {
		f.problem(charts, "", ErrHelm)
	}
	if as == useConfigs {
		f.onlyLists(&k)
	}
	f.configured = f.configured || len(k.Configurations) > 0

	f.each("resources", resources, f.resource(as))
	f.each("bases", bases, f.resource(as))
	f.each("components", k.Components, f.component)
	f.each("crds", k.Crds, f.crd)
	f.each("configurations", k.Configurations, f.file)
	f.openapi(k.OpenAPI)
	f.patches(&k)
	f.replacements("replacements", k.Replacements)
	for i, g := range k.ConfigMapGenerator {
		f.sources(fmt.Sprintf("configMapGenerator[%d]", i), g.KvPairSources)
	}
	for i, g := range k.SecretGenerator {
		f.sources(fmt.Sprintf("secretGenerator[%d]", i), g.KvPairSources)
		f.keepSecret(g.KvPairSources)
	}
	for i, image := range images {
		f.image(fmt.Sprintf("images[%d]", i), image)
	}
	for i, image := range imageTags {
		f.image(fmt.Sprintf("imageTags[%d]", i), image)
	}
	if as == useConfigs {
		return // whoever lists the folder checks its configurations
	}
	f.each("generators", k.Generators, f.plugins)
	f.each("transformers", k.Transformers, f.plugins)
	f.each("validators", k.Validators, f.plugins)
	for _, c := range f.configs {
		f.checkConfig(c)
	}
}
