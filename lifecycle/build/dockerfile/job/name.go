package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// form is the version of what a Job does. A Job of another form is another Job.
const form = "2"

// identity is what makes two builds the same.
type identity struct {
	target, image string
	fingerprint   catalogue.Fingerprint
	repository    string // as pods see it
	settings      string // of the pod
}

func (b *Backend) identify(s dockerfile.Solve) identity {
	return identity{target: b.config.Target, image: s.Image, fingerprint: s.Fingerprint, repository: b.pulled(s.Repository), settings: b.config.pod()}
}

// pod is the part of the Config that its pods are made by. A Job that a mistake in it
// keeps from starting is not in the way of the one that is made without the mistake.
func (c Config) pod() string {
	return fmt.Sprintf("%q", []any{c.Image, c.NodeSelector, c.Requests, c.Limits, c.Cache.Claim, c.Cache.MaxSize,
		c.GitURL, c.GitSecret, c.Pull, strconv.FormatBool(c.Insecure), c.RegistrySecret, c.BuildSecret, c.SSHSecret})
}

// name is that of the Job: pharos-build-, the beginning of the image's name, and 16
// hexadecimal digits. A Job's name has at most 63 characters, and those of its pods
// five more and a hyphen.
func (i identity) name() string {
	h := sha256.New()
	for _, part := range []string{form, i.target, i.image, string(i.fingerprint), i.repository, i.settings} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return "pharos-build-" + hostName(i.image, 24) + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

func (i identity) labels() map[string]string {
	return map[string]string{
		keys.ManagedBy:        keys.Manager,
		keys.BuildOf:          i.target,
		keys.BuildImage:       label(i.image),
		keys.BuildFingerprint: label(i.digits()),
	}
}

// digits are those of the fingerprint, as many as a label can surely hold.
func (i identity) digits() string {
	digits := strings.TrimPrefix(string(i.fingerprint), "sha256:")
	return digits[:min(40, len(digits))]
}

// label shortens a name to a value of a label: at most 63 characters, the first and
// the last of them letters or digits.
func label(name string) string {
	return strings.Trim(name[:min(63, len(name))], "-._")
}

// hostName makes part of a DNS name of an image's name.
func hostName(name string, length int) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if name = strings.Trim(name[:min(length, len(name))], "-"); name == "" {
		return "image"
	}
	return name
}

// folder is the image's part of a shared cache.
func (i identity) folder() string {
	sum := sha256.Sum256([]byte(i.target + "/" + i.image))
	return hostName(i.image, 24) + "-" + hex.EncodeToString(sum[:4])
}
