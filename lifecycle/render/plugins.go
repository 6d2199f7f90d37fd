package render

import (
	"errors"
	"fmt"
	"reflect"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	syaml "sigs.k8s.io/yaml"
)

// plugins checks an entry of generators, transformers or validators: objects
// written in place, or a file or folder of them.
func (f *kfile) plugins(field, entry string) {
	// kustomize takes the entry for objects if it parses as such.
	rm, err := f.inPlace(entry)
	if err == nil {
		for _, r := range rm.Resources() {
			f.configs = append(f.configs, config{field: field, object: r})
		}
		return
	}
	f.resource(useConfigs)(field, entry)
}

// inPlace parses an entry as kustomize does. That looks into the schema.
func (f *kfile) inPlace(entry string) (resmap.ResMap, error) {
	if err := takeTurn(f.tree.ctx); err != nil {
		return nil, f.tree.fail(err)
	}
	defer endTurn()
	return f.factory.NewResMapFromBytes([]byte(entry))
}

// config is a plugin's configuration, listed by the kustomization.
type config struct {
	field  string
	file   string // empty if it is written in place
	object *resource.Resource
}

// configFile parses a file of plugins' configurations.
func (s *scanner) configFile(field, file string, content []byte) []config {
	rs, err := s.factory.RF().SliceFromBytes(content)
	if err != nil {
		p := &Problem{File: file}
		p.Line, p.Err = lineOf(err)
		s.problems = append(s.problems, p)
		return nil
	}
	configs := make([]config, len(rs))
	for i, r := range rs {
		configs[i] = config{field: field, file: file, object: r}
	}
	return configs
}

// checkConfig refuses plugins that are not kustomize's own, and checks the
// files that the others name. Those paths are relative to the kustomization
// that lists the configuration, wherever the configuration stands.
func (f *kfile) checkConfig(c config) {
	kind, name := c.object.GetKind(), c.object.GetName()
	if c.object.GetApiVersion() != konfig.BuiltinPluginApiVersion {
		f.problem(c.field, c.file, fmt.Errorf("%w: %s %s %q is not", ErrPlugin, c.object.GetApiVersion(), kind, name))
		return
	}
	y, err := c.object.AsYAML()
	if err != nil {
		f.problem(c.field, c.file, err)
		return
	}
	// The tags are those of the plugins in kustomize's api/internal/builtins.
	var args struct {
		types.KvPairSources
		Path           string                      `json:"path"`
		Paths          []types.PatchStrategicMerge `json:"paths"`
		TargetFilePath string                      `json:"targetFilePath"`
		ImageTag       types.Image                 `json:"imageTag"`
		Replacements   []types.ReplacementField    `json:"replacements"`
		Target         any                         `json:"target"`
	}
	decode := func() bool {
		if err := syaml.Unmarshal(y, &args); err != nil {
			f.problem(c.field, c.file, err)
			return false
		}
		return true
	}
	field := fmt.Sprintf("%s: %s %s", c.field, kind, name)
	switch kind {
	case "HelmChartInflationGenerator":
		f.problem(c.field, c.file, ErrHelm)
	case "ConfigMapGenerator", "SecretGenerator":
		if !decode() {
			return
		}
		f.sources(field, args.KvPairSources)
		if kind == "SecretGenerator" {
			f.keepSecret(args.KvPairSources)
		}
	case "PatchTransformer", "PatchJson6902Transformer":
		if !decode() {
			return
		}
		if kind == "PatchJson6902Transformer" && args.Target == nil {
			f.problem(field, "", errors.New("has no target"))
		}
		if args.Path != "" {
			f.file(field+": path", args.Path)
		}
	case "PatchStrategicMergeTransformer":
		if decode() {
			f.strategicPaths(field+": paths", args.Paths)
		}
	case "ReplacementTransformer":
		if decode() {
			f.replacements(field+": replacements", args.Replacements)
		}
	case "ImageTagTransformer":
		if decode() {
			f.image(field+": imageTag", args.ImageTag)
		}
	case "ValueAddTransformer":
		if decode() && args.TargetFilePath != "" {
			f.file(field+": targetFilePath", args.TargetFilePath)
		}
	}
}

// onlyLists refuses what could change a plugin's configuration between the
// file that is checked and kustomize: a patch could set a path.
func (f *kfile) onlyLists(k *types.Kustomization) {
	rest := *k
	rest.TypeMeta, rest.MetaData, rest.Resources = types.TypeMeta{}, nil, nil
	if !reflect.DeepEqual(rest, types.Kustomization{}) {
		f.problem("", "", fmt.Errorf("%w: a kustomization of generators, transformers or validators may only list resources", ErrPlugin))
	}
}
