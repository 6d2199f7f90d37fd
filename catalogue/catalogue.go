package catalogue

import (
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

const (
	// FileName is the path of the catalogue in a tree.
	FileName = "pharos.yaml"
	// APIVersion is the apiVersion of every document in a pharos.yaml.
	APIVersion = "pharos.dev/v1alpha1"
	// KindCatalogue is the kind of the document that Parse reads.
	KindCatalogue = "Catalogue"
	// KindTarget is the kind of the documents that say where to deliver. Parse
	// leaves them to lifecycle/standard.
	KindTarget = "Target"
)

// Fingerprint identifies everything that can reach an image: "sha256:" and 64
// lower-case hexadecimal digits. The package comment gives its encoding.
type Fingerprint string

// Catalogue says what is built from what: the Catalogue document of a
// pharos.yaml.
type Catalogue struct {
	// Digest is "sha256:" and the SHA-256 of the file that Parse was given, in
	// 64 lower-case hexadecimal digits. It covers the file's other documents
	// and its comments too.
	Digest string
	// Images stand in the order of the file; their names are unique.
	Images []Image
	// Delivery are the patterns of the files that reach the target by being
	// delivered, such as manifests.
	Delivery Patterns
	// Neutral are the patterns of the files that never reach the target.
	Neutral Patterns
}

// Image is one image of a catalogue.
type Image struct {
	// Name is the image's name in the kustomizations, and the last part of its
	// repository's name.
	Name string
	// Build is how it is built.
	Build Build
	// Inputs are the patterns that say which files of the tree may reach it.
	Inputs Patterns
	// Platforms are the platforms it is built for, such as "linux/amd64",
	// sorted. The default is linux/amd64, never the machine's own.
	Platforms []string
	// Run says how it runs on a workstation; nil if it does not say.
	Run *Run
}

// Build is a recipe: exactly one of its pointers is set.
type Build struct {
	Go         *GoBuild
	Dockerfile *DockerfileBuild
	Files      *FilesBuild
}

// The values of Build.Kind.
const (
	BuildGo         = "go"
	BuildDockerfile = "dockerfile"
	BuildFiles      = "files"
)

// Kind returns BuildGo, BuildDockerfile or BuildFiles, as in pharos.yaml, and ""
// for the zero value.
func (b Build) Kind() string {
	switch {
	case b.Go != nil:
		return BuildGo
	case b.Dockerfile != nil:
		return BuildDockerfile
	case b.Files != nil:
		return BuildFiles
	}
	return ""
}

// Artifact says whether an artifact is built, which no container runs: files with
// a media type that is not one of an image's layers, which are OCI's own.
func (b Build) Artifact() bool {
	return b.Files != nil && b.Files.MediaType != "" && !strings.HasPrefix(strings.ToLower(b.Files.MediaType), "application/vnd.oci.")
}

// Scratch is the GoBuild.Base that names an empty image.
const Scratch = "scratch"

// GoBuild builds one Go main package.
type GoBuild struct {
	// Package is the package's folder from the tree's root: "./services/api",
	// or "." for the root.
	Package string
	// LDFlags are the arguments of the linker, in order. Those that name files
	// or programs are refused by Parse. They may hold templates: see GoValues.
	LDFlags []string
	// Tags are the build tags, sorted. They may hold templates: see GoValues.
	Tags []string
	// Env is set for the Go command beside what Pharos itself sets. Variables
	// that would tie the result to a machine, that Pharos derives from other
	// fields, or that hold secrets are refused by Parse.
	Env map[string]string
	// Toolchain is a Go toolchain such as "go1.26.8". The default, "", is
	// go.mod's toolchain, else its go line.
	Toolchain string
	// Base is the image that the program is put on: Scratch, the default; the
	// name of another image of the catalogue; or a reference, whose digest
	// pharos.lock holds if it has none itself.
	Base string
	// Assets are files and folders of the tree that are put into the image
	// beside the program: paths from the tree's root, sorted.
	Assets []string
}

// DockerfileBuild builds a Dockerfile. Its context is the root of the pruned
// tree.
type DockerfileBuild struct {
	// Path is the Dockerfile's path from the tree's root. The default is
	// "Dockerfile".
	Path string
	// Target is the stage to build. The default, "", is the last one.
	Target string
	// Args are the build arguments.
	Args map[string]string
	// Secrets are the ids of the secrets that it mounts, sorted.
	Secrets []string
	// SSH are the ids of the SSH agents that it mounts, sorted.
	SSH []string
}

// FilesBuild copies files of the pruned tree into an image.
type FilesBuild struct {
	// From is the folder whose content is copied, from the tree's root. The
	// default, ".", is the root of the pruned tree.
	From string
	// Root is the folder in the image that it is copied to, an absolute path.
	// The default is "/".
	Root string
	// MediaType is the media type of the layer. The default, "", is that of an
	// ordinary image layer.
	MediaType string
}

// Field is one line of a fingerprint's preimage.
type Field struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// State is an image at a tree.
type State struct {
	Image       Image
	Fingerprint Fingerprint
	// Preimage is what the fingerprint is the hash of, sorted by key.
	Preimage []Field
	// Inputs is the pruned tree: the image's inputs and nothing else.
	Inputs source.Tree
	// Files is the number of files in Inputs.
	Files int
	// Bases are the base images by digest, sorted: each as written in the
	// recipe, with the digest of pharos.lock behind it if it has none itself,
	// such as "alpine:3@sha256:…".
	Bases []string
	// Frontend is what a Dockerfile's "# syntax" line names, by digest as Bases
	// are; "" if there is no such line.
	Frontend string
	// Dependencies are the names of the catalogue's images that the image is
	// built on, sorted. What those are built on is not among them.
	Dependencies []string
}
