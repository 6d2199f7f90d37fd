package catalogue

import "github.com/pharos-dev/pharos/catalogue/source"

// FileName is the path of the catalogue in a tree.
const FileName = "pharos.yaml"

// Fingerprint identifies everything that can reach an image: "sha256:" and 64
// lower-case hexadecimal digits. The package comment gives its encoding.
type Fingerprint string

// Catalogue says what is built from what: the Catalogue document of a
// pharos.yaml.
type Catalogue struct {
	Images   []Image
	Delivery Patterns
	Neutral  Patterns
}

// Image is one image of a catalogue.
type Image struct {
	// Name is the image's name in the kustomizations.
	Name string
	// Build is how it is built.
	Build Build
	// Inputs are the patterns that say which files of the tree may reach it.
	Inputs Patterns
	// Platforms are the platforms it is built for, such as "linux/amd64",
	// sorted. The default is linux/amd64, never the machine's own.
	Platforms []string
}

// Build is a recipe: exactly one of its pointers is set.
type Build struct {
	Go         *GoBuild
	Dockerfile *DockerfileBuild
	Files      *FilesBuild
}

// GoBuild builds one Go main package.
type GoBuild struct {
	Package   string   // the package's folder, "./services/api"
	LDFlags   []string // arguments of the linker, in order
	Tags      []string // build tags, sorted
	Env       map[string]string
	Toolchain string // "go1.26.8"; the default is go.mod's toolchain, else its go line
	Base      string // a reference by digest; the default is "scratch", an empty image
	Assets    []string
}

// DockerfileBuild builds a Dockerfile.
type DockerfileBuild struct {
	Path    string
	Target  string
	Args    map[string]string
	Secrets []string // ids
	SSH     []string // ids
}

// FilesBuild copies files of the pruned tree into an image.
type FilesBuild struct {
	From      string
	Root      string
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
	// Bases are the base images by digest, each as written in the recipe.
	Bases []string
}
