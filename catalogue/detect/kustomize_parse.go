package detect

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kustomization is what is looked at of a kustomization.yaml.
type kustomization struct {
	Kind           string       `yaml:"kind"`
	Resources      []string     `yaml:"resources"`
	Bases          []string     `yaml:"bases"`
	Components     []string     `yaml:"components"`
	CRDs           []string     `yaml:"crds"`
	Configurations []string     `yaml:"configurations"`
	Generators     []string     `yaml:"generators"`
	Transformers   []string     `yaml:"transformers"`
	StrategicMerge []string     `yaml:"patchesStrategicMerge"`
	Patches        []pathField  `yaml:"patches"`
	JSON6902       []pathField  `yaml:"patchesJson6902"`
	Replacements   []pathField  `yaml:"replacements"`
	OpenAPI        pathField    `yaml:"openapi"`
	ConfigMaps     []generator  `yaml:"configMapGenerator"`
	Secrets        []generator  `yaml:"secretGenerator"`
	Images         []imageField `yaml:"images"`
}

type pathField struct {
	Path string `yaml:"path"`
}

type generator struct {
	Files []string `yaml:"files"`
	Envs  []string `yaml:"envs"`
	Env   string   `yaml:"env"`
}

type imageField struct {
	Name    string `yaml:"name"`
	NewName string `yaml:"newName"`
}

// maxManifest is how large a manifest is looked at, in bytes.
const maxManifest = 4 << 20

// parseKustomization reads what it can of a kustomization: fields of another type
// than expected are left empty. ok says that it is YAML at all.
func parseKustomization(data []byte) (k kustomization, ok bool) {
	if len(data) > maxManifest {
		return k, false
	}
	err := yaml.Unmarshal(data, &k)
	_, wrongTypes := errors.AsType[*yaml.TypeError](err)
	return k, err == nil || wrongTypes
}

// entries are all entries that name a file or folder.
func (k *kustomization) entries() []string {
	var all []string
	for _, list := range [][]string{k.Resources, k.Bases, k.Components, k.CRDs, k.Configurations, k.Generators, k.Transformers, k.StrategicMerge} {
		all = append(all, list...)
	}
	for _, list := range [][]pathField{k.Patches, k.JSON6902, k.Replacements, {k.OpenAPI}} {
		for _, p := range list {
			all = append(all, p.Path)
		}
	}
	for _, list := range [][]generator{k.ConfigMaps, k.Secrets} {
		for _, g := range list {
			all = append(all, g.Env)
			all = append(all, g.Envs...)
			for _, file := range g.Files {
				if _, name, ok := strings.Cut(file, "="); ok {
					file = name
				}
				all = append(all, file)
			}
		}
	}
	return all
}

// containerImages returns the image references of the containers and volumes in a
// manifest, in whatever kind of object they stand. What does not parse has none.
func containerImages(data []byte) []string {
	if len(data) > maxManifest {
		return nil
	}
	var refs []string
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return refs
		}
		if err != nil {
			return nil
		}
		refs = append(refs, imagesIn(&doc)...)
	}
}

func imagesIn(n *yaml.Node) []string {
	var refs []string
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue // a key
		}
		if n.Kind == yaml.MappingNode && isContainers(n.Content[i-1].Value) && child.Kind == yaml.SequenceNode {
			for _, container := range child.Content {
				if ref := field(container, "image"); ref != "" {
					refs = append(refs, ref)
				}
			}
		}
		if n.Kind == yaml.MappingNode && n.Content[i-1].Value == "volumes" && child.Kind == yaml.SequenceNode {
			refs = append(refs, volumeImages(child)...)
		}
		refs = append(refs, imagesIn(child)...)
	}
	return refs
}

// volumeImages are the image references of a list of volumes.
func volumeImages(volumes *yaml.Node) []string {
	var refs []string
	for _, volume := range volumes.Content {
		for i := 0; volume.Kind == yaml.MappingNode && i+1 < len(volume.Content); i += 2 {
			if volume.Content[i].Value != "image" {
				continue
			}
			if ref := field(volume.Content[i+1], "reference"); ref != "" {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

func isContainers(key string) bool {
	return key == "containers" || key == "initContainers" || key == "ephemeralContainers"
}

// field is the scalar value of a mapping's key.
func field(n *yaml.Node, key string) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i+1].Kind == yaml.ScalarNode {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// nameOf is a reference without its tag and digest, as kustomize's images field
// names it.
func nameOf(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(ref, ':'); i > strings.LastIndexByte(ref, '/') {
		ref = ref[:i]
	}
	return ref
}
