package golang

import (
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pharos-dev/pharos/catalogue"
)

// parsePlatform reads a platform as a catalogue writes it.
func parsePlatform(s string) (catalogue.Platform, error) {
	p, err := catalogue.ParsePlatform(s)
	if err != nil {
		return p, fmt.Errorf("platform %q %w", s, err)
	}
	if p.OS == "windows" {
		// An image for Windows is laid out otherwise and needs a base that matches its nodes.
		return p, fmt.Errorf("platform %q: Go images are built for Linux and FreeBSD only", s)
	}
	return p, nil
}

func ociPlatform(p catalogue.Platform) v1.Platform {
	return v1.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}
}

// fileName is a name for the platform that a file system takes.
func fileName(p catalogue.Platform) string { return strings.ReplaceAll(p.String(), "/", "-") }

// platformEnv tells the Go command what to build for. The settings for variants
// are listed at https://go.dev/doc/install/source#environment; how variants are
// written, in the OCI image specification.
func platformEnv(p catalogue.Platform) []string {
	env := []string{"GOOS=" + p.OS, "GOARCH=" + p.Architecture}
	switch {
	case p.Variant == "":
	case p.Architecture == "amd64":
		env = append(env, "GOAMD64="+p.Variant)
	case p.Architecture == "arm":
		env = append(env, "GOARM="+strings.TrimPrefix(p.Variant, "v"))
	}
	return env
}
