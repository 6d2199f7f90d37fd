package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/strictyaml"
)

// DefaultPlatform is the platform of an image that names none.
const DefaultPlatform = "linux/amd64"

// Platform is what an image runs on, in the terms of the OCI image
// specification, which are those of Go: OS is a GOOS and Architecture a GOARCH.
type Platform struct {
	OS           string
	Architecture string
	Variant      string // "v7" of linux/arm/v7; empty for most architectures
}

// String returns "os/architecture" or "os/architecture/variant".
func (p Platform) String() string {
	s := p.OS + "/" + p.Architecture
	if p.Variant != "" {
		s += "/" + p.Variant
	}
	return s
}

// Normal returns the platform in the spelling of ParsePlatform, where what goes
// without saying is left out and 32-bit ARM has a variant: the normal form of
// containerd's platforms package.
func (p Platform) Normal() Platform {
	switch p.Architecture + "/" + p.Variant {
	case "arm64/v8", "amd64/v1":
		p.Variant = ""
	case "arm/":
		p.Variant = "v7"
	}
	return p
}

// operatingSystems are those that containers run on.
var operatingSystems = []string{"freebsd", "linux", "windows"}

// variants are the architectures and their variants. The empty variant is the
// architecture's baseline; only 32-bit ARM has none.
var variants = map[string][]string{
	"386": {""}, "amd64": {"", "v2", "v3", "v4"}, "arm": {"v5", "v6", "v7"}, "arm64": {""}, "loong64": {""},
	"mips": {""}, "mips64": {""}, "mips64le": {""}, "mipsle": {""}, "ppc64": {""}, "ppc64le": {""}, "riscv64": {""}, "s390x": {""},
}

// otherNames are names in common use that are spelled otherwise here, so that
// one platform has one name.
var otherNames = map[string]string{
	"x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "i386": "386", "i686": "386", "x86": "386",
	"aarch64": "arm64", "armv7": "arm/v7", "armhf": "arm/v7", "armv6": "arm/v6", "armel": "arm/v6",
	"amd64/v1": "amd64", "arm64/v8": "arm64", "arm/7": "arm/v7", "arm/6": "arm/v6", "arm/5": "arm/v5",
}

// ParsePlatform reads a platform such as "linux/amd64" or "linux/arm/v7". Each
// platform has one spelling only; the error says which if it is another.
func ParsePlatform(s string) (Platform, error) {
	os, rest, ok := strings.Cut(s, "/")
	if !ok {
		return Platform{}, fmt.Errorf("is no platform: %q has no operating system and architecture, such as %s", s, DefaultPlatform)
	}
	if !slices.Contains(operatingSystems, os) {
		return Platform{}, fmt.Errorf("is no platform: %q is no operating system that containers run on (%s)", os, strings.Join(operatingSystems, ", "))
	}
	if name, ok := otherNames[strings.ToLower(rest)]; ok {
		return Platform{}, fmt.Errorf("must be written %s/%s", os, name)
	}
	arch, variant, hasVariant := strings.Cut(rest, "/")
	known, ok := variants[arch]
	if !ok {
		return Platform{}, fmt.Errorf("is no platform: %q is no known architecture%s", arch, nearestArchitecture(arch))
	}
	if slices.Contains(known, variant) && hasVariant == (variant != "") {
		return Platform{OS: os, Architecture: arch, Variant: variant}, nil
	}
	if !hasVariant {
		return Platform{}, fmt.Errorf("needs a variant: %s", spellings(os, arch, known))
	}
	return Platform{}, fmt.Errorf("is no platform: %s has no variant %q; write %s", arch, variant, spellings(os, arch, known))
}

func nearestArchitecture(arch string) string {
	var all []string
	for a := range variants {
		all = append(all, a)
	}
	slices.Sort(all)
	if best := strictyaml.Nearest(arch, all); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return " (" + strings.Join(all, ", ") + ")"
}

func spellings(os, arch string, variants []string) string {
	list := make([]string, len(variants))
	for i, v := range variants {
		list[i] = Platform{OS: os, Architecture: arch, Variant: v}.String()
	}
	return strings.Join(list, " or ")
}

func checkPlatform(s string) error {
	_, err := ParsePlatform(s)
	return err
}
