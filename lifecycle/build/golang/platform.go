package golang

import (
	"cmp"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// platform is what an image is built for.
type platform struct{ os, arch, variant string }

func parsePlatform(s string) (platform, error) {
	parts := strings.Split(s, "/")
	if len(parts) < 2 || len(parts) > 3 || strings.Contains("/"+s+"/", "//") {
		return platform{}, fmt.Errorf(`platform %q: want os/arch or os/arch/variant, such as "linux/amd64"`, s)
	}
	p := platform{os: parts[0], arch: parts[1]}
	if len(parts) == 3 {
		p.variant = parts[2]
	}
	if _, ok := p.variantEnv(); !ok {
		return platform{}, fmt.Errorf("platform %q: Go knows no variant %q of %s", s, p.variant, p.arch)
	}
	return p, nil
}

func (p platform) String() string {
	if p.variant == "" {
		return p.os + "/" + p.arch
	}
	return p.os + "/" + p.arch + "/" + p.variant
}

func (p platform) compare(q platform) int { return cmp.Compare(p.String(), q.String()) }

func (p platform) oci() v1.Platform {
	return v1.Platform{OS: p.os, Architecture: p.arch, Variant: p.variant}
}

// folder is a name for the platform that a file system takes.
func (p platform) folder() string { return strings.ReplaceAll(p.String(), "/", "-") }

// variantEnv is the setting of the Go command for the platform's variant, empty
// if it has none. https://go.dev/doc/install/source#environment lists them; the
// OCI image specification says how variants are written.
func (p platform) variantEnv() (setting string, ok bool) {
	if p.variant == "" {
		return "", true
	}
	values, ok := map[string]map[string]string{
		"amd64": {"v1": "GOAMD64=v1", "v2": "GOAMD64=v2", "v3": "GOAMD64=v3", "v4": "GOAMD64=v4"},
		"arm":   {"v5": "GOARM=5", "v6": "GOARM=6", "v7": "GOARM=7"},
		"arm64": {"v8": "GOARM64=v8.0", "v9": "GOARM64=v9.0"},
	}[p.arch]
	return values[p.variant], ok && values[p.variant] != ""
}
