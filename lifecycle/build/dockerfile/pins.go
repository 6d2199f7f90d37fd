package dockerfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	spb "github.com/moby/buildkit/sourcepolicy/pb"
)

// pin finds out which image each reference of the Dockerfile stands for.
func (b *build) pin(p *plan, found *problems) {
	var written []string
	for _, of := range p.plans {
		written = append(written, of.Bases...)
	}
	slices.Sort(written)
	same := map[string]Pin{} // by what BuildKit calls the reference
	for _, ref := range slices.Compact(written) {
		pin := Pin{Reference: ref, Image: b.imageOf(ref, written)}
		if b.early && pin.Image == "" && slices.Contains(b.request.State.Dependencies, ref) {
			continue
		}
		if !byDigest(pin.Image) {
			found.say("%s: it is built on %s, which is not known by digest", b.file, ref)
			continue
		}
		p.pins = append(p.pins, pin)
		name := contextName(ref)
		if other, ok := same[name]; ok && digestOf(other.Image) != digestOf(pin.Image) {
			found.say("%s: %s and %s are one image for BuildKit, and locked to two: write them alike", b.file, other.Reference, ref)
		}
		same[name] = pin
	}
}

// imageOf returns the reference by digest that one in the Dockerfile stands for.
func (b *build) imageOf(ref string, written []string) string {
	if slices.Contains(b.request.State.Dependencies, ref) {
		return b.request.Images[ref]
	}
	if byDigest(ref) {
		return ref
	}
	for _, base := range b.request.State.Bases {
		// The same name may stand in the Dockerfile with a digest of its own.
		if strings.HasPrefix(base, ref+"@") && !slices.Contains(written, base) {
			return base
		}
	}
	return ""
}

// basePlatforms are those that FROM asks for.
func basePlatforms(p *plan) []string {
	var platforms []string
	for _, of := range p.plans {
		for _, from := range of.From {
			if from.Platform != "" {
				platforms = append(platforms, from.Platform)
			}
		}
	}
	return sorted(platforms)
}

func digestOf(ref string) string {
	_, digest, _ := strings.Cut(ref, "@")
	return digest
}

func byDigest(ref string) bool { return strings.Contains(ref, "@sha256:") }

// contextsOf are the named contexts that give the frontend its images, also those
// that the Dockerfile names by digest: a Backend may have them from elsewhere. BuildKit
// looks one up by the familiar name of a reference, without ":latest", and takes
// it for a stage of that name as well, instead of all that the stage does: one
// whose name a stage has is left out, and only the policy stands for it.
func contextsOf(pins []Pin, stages []string) map[string]string {
	contexts := map[string]string{}
	for _, p := range pins {
		name := contextName(p.Reference)
		if name != "" && !slices.Contains(stages, strings.ToLower(name)) {
			contexts[name] = p.Image
		}
	}
	return contexts
}

// contextName is the name that BuildKit looks up for a reference; see NamedContext
// in its package frontend/dockerui.
func contextName(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(reference.FamiliarString(reference.TagNameOnly(named)), ":latest")
}

// contextPrefix begins the name of an option that is a named context.
const contextPrefix = "context:"

// imageScheme begins the identifier of an image in a source policy.
const imageScheme = "docker-image://"

// policyOf makes a source policy that turns references into theirs by digest,
// wherever a frontend or an ONBUILD instruction names them, and refuses all
// other images that are not named by digest. A reference that has its digest
// already is named too: BuildKit may know the registry by another name, which a
// Backend puts there.
func policyOf(pins []Pin) ([]byte, error) {
	policy := &spb.Policy{Version: 1}
	for _, p := range pins {
		from, err := identifier(p.Reference)
		if err != nil {
			return nil, err
		}
		to, err := identifier(p.Image)
		if err != nil {
			return nil, err
		}
		policy.Rules = append(policy.Rules, &spb.Rule{
			Action:   spb.PolicyAction_CONVERT,
			Selector: &spb.Selector{Identifier: from, MatchType: spb.MatchType_EXACT},
			Updates:  &spb.Update{Identifier: to},
		})
	}
	// The last rule that matches decides.
	policy.Rules = append(policy.Rules,
		&spb.Rule{Action: spb.PolicyAction_DENY, Selector: &spb.Selector{Identifier: `^docker-image://`, MatchType: spb.MatchType_REGEX}},
		&spb.Rule{Action: spb.PolicyAction_ALLOW, Selector: &spb.Selector{Identifier: `^docker-image://.+@sha256:[0-9a-f]{64}$`, MatchType: spb.MatchType_REGEX}},
	)
	return json.Marshal(policy)
}

// identifier is what BuildKit calls an image.
func identifier(ref string) (string, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", fmt.Errorf("%q is no reference of an image: %w", ref, err)
	}
	return imageScheme + reference.TagNameOnly(named).String(), nil
}

// hostOf is the registry of a reference, "docker.io" if it names none.
func hostOf(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}
