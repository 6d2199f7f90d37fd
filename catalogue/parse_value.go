package catalogue

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// component is a part of a repository's name as the OCI distribution
// specification has it.
const component = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`

var (
	imageName = lazyregexp.New("^" + component + "$")
	// reference is an image's: the registry, the repository, the tag and the
	// digest, of which only the repository must be there
	// (https://pkg.go.dev/github.com/distribution/reference).
	reference = lazyregexp.New(`^(?:(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?/)?` +
		component + `(?:/` + component + `)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
	// digestText is a digest without a reference.
	digestText = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	// identifier is a name that a shell can set.
	identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// envPattern is an identifier in which * stands for any characters.
	envPattern = lazyregexp.New(`^[A-Za-z_*][A-Za-z0-9_*]*$`)
	// buildTag is a word of a build constraint.
	buildTag = lazyregexp.New(`^[A-Za-z0-9_.]+$`)
	// toolchain is the name of a Go toolchain that go.dev has.
	toolchain = lazyregexp.New(`^go1\.(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)|(?:rc|beta)[1-9][0-9]*)$`)
	// plainID is a stage of a Dockerfile, or the id of a mount.
	plainID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	// mediaType is a media type without parameters (RFC 6838, section 4.2).
	mediaType = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*$`)
)

func checkImageName(s string) error {
	const longest = 128
	switch {
	case len(s) > longest:
		return fmt.Errorf("is longer than %d characters", longest)
	case !imageName.MatchString(s):
		return fmt.Errorf("is %q, and must be a part of a repository's name: lower-case letters and digits, with '.', '_' or '-' between them", s)
	}
	return nil
}

// checkPath accepts a path that stays inside the tree.
func checkPath(s string) error {
	switch {
	case strings.Contains(s, `\`):
		return fmt.Errorf("is %q: the segments of a path are separated by /", s)
	case path.IsAbs(s):
		return fmt.Errorf("is %q: a path is relative to the root of the tree, so leave the leading / out", s)
	case escapes(s):
		return fmt.Errorf("is %q, which leaves the tree: an image is built from this tree only", s)
	case strings.ContainsAny(s, "\x00\r\n"):
		return fmt.Errorf("is %q, which has a line break", s)
	}
	return nil
}

func escapes(s string) bool {
	c := path.Clean(s)
	return c == ".." || strings.HasPrefix(c, "../")
}

// cleanPaths cleans paths and keeps them sorted and unique.
func cleanPaths(list []string) []string {
	for i := range list {
		list[i] = path.Clean(list[i])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// checkImagePath accepts a path in an image.
func checkImagePath(s string) error {
	switch {
	case strings.ContainsAny(s, "\\\x00\r\n"):
		return fmt.Errorf("is %q, which is no path in an image", s)
	case !path.IsAbs(s):
		return fmt.Errorf("is %q, and must be an absolute path in the image, such as /srv", s)
	}
	return nil
}

func checkPackage(s string) error {
	if err := checkPath(s); err != nil {
		return err
	}
	switch {
	case s != "." && !strings.HasPrefix(s, "./"):
		return fmt.Errorf("is %q, and must be a folder that begins with ./: write %q", s, "./"+s)
	case strings.Contains(s, "..."):
		return fmt.Errorf("is %q, and must be the folder of one main package", s)
	}
	return nil
}

// cleanPackage cleans a package's folder, and keeps the "./" that tells it from
// an import path.
func cleanPackage(s string) string {
	if s == "" {
		return ""
	}
	if c := path.Clean(s); c != "." {
		return "./" + c
	}
	return "."
}

// checkLine refuses what cannot be an argument on a line.
func checkLine(s string) error {
	if strings.ContainsAny(s, "\x00\r\n") {
		return fmt.Errorf("is %q, which has a line break", s)
	}
	return nil
}

func checkTag(s string) error {
	sample, err := expand(s, GoValues{Platform: Platform{OS: "linux", Architecture: "amd64"}}.inTags())
	if err != nil {
		return err
	}
	if !buildTag.MatchString(sample) {
		return fmt.Errorf("is %q, and a build tag has letters, digits, '_' and '.' only; write each as an item of its own", s)
	}
	return nil
}

func checkToolchain(s string) error {
	if !toolchain.MatchString(s) {
		return fmt.Errorf("is %q, and must be the full name of a Go release, such as go1.26.8", s)
	}
	return nil
}

// checkBase accepts Scratch, the name of an image, and any reference.
func checkBase(s string) error {
	if !reference.MatchString(s) {
		return fmt.Errorf("is %q, and must be %q, the name of an image of this file, or a reference such as registry.example.com/base:1", s, Scratch)
	}
	return nil
}

// byDigest returns the digest in a reference, "" if there is none.
func byDigest(ref string) string {
	if at := strings.LastIndexByte(ref, '@'); at >= 0 {
		return ref[at+1:]
	}
	return ""
}

func checkStage(s string) error {
	if !plainID.MatchString(s) {
		return fmt.Errorf("is %q, and must be the name or number of a stage", s)
	}
	return nil
}

func checkID(s string) error {
	if !plainID.MatchString(s) {
		return fmt.Errorf("is %q, and must be an id: letters, digits, '_', '.' and '-'", s)
	}
	return nil
}

func checkMediaType(s string) error {
	if !mediaType.MatchString(s) {
		return fmt.Errorf("is %q, and must be a media type without parameters, such as application/vnd.oci.image.layer.v1.tar+gzip", s)
	}
	return nil
}

func checkEnvPattern(s string) error {
	if !envPattern.MatchString(s) {
		return fmt.Errorf("is %q, and must be the name of an environment variable, in which * stands for any characters", s)
	}
	return nil
}

func checkArg(key, value string) error {
	switch {
	case !identifier.MatchString(key):
		return errors.New("is no name of a build argument")
	case SecretName(key):
		return errors.New("looks like a secret, and arguments stand in the image's history and in receipts: mount it, and name its id in secrets")
	}
	return checkLine(value)
}
