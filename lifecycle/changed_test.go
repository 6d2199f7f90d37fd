package lifecycle

import (
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/receipt"
)

// TestChangedSince wants words that people know from pharos.yaml, none of the
// keys that fingerprints are computed of.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	state := func(name string, preimage ...catalogue.Field) catalogue.State {
		f, err := catalogue.ComputeFingerprint(preimage)
		if err != nil {
			t.Fatal(err)
		}
		return catalogue.State{Image: catalogue.Image{Name: name}, Fingerprint: f, Preimage: preimage}
	}
	platform := catalogue.Field{Key: "platform.0000", Value: "linux/amd64"}
	web := func(base catalogue.State, tree string, more ...catalogue.Field) catalogue.State {
		return state("web", append([]catalogue.Field{
			{Key: "builder", Value: "dockerfile"}, {Key: "builder.version", Value: "1"}, {Key: "dockerfile.image.0000", Value: string(base.Fingerprint)},
			platform, {Key: "tree", Value: tree},
		}, more...)...)
	}
	base := state("storefront", catalogue.Field{Key: "builder", Value: "files"}, platform)
	changed := state("storefront", catalogue.Field{Key: "builder", Value: "files"}, platform, catalogue.Field{Key: "tree", Value: "1"})
	changes := []PathChange{{Path: "web/a", Images: []string{"web"}}, {Path: "docs/a"}, {Path: "web/b", Images: []string{"web", "api"}}}
	record := func(states ...catalogue.State) *receipt.Record {
		r := &receipt.Record{}
		for _, st := range states {
			img := receipt.Image{Name: st.Image.Name, Fingerprint: string(st.Fingerprint)}
			for _, f := range st.Preimage {
				img.Preimage = append(img.Preimage, receipt.Field(f))
			}
			r.Images = append(r.Images, img)
		}
		return r
	}
	before := record(base, web(base, "1"))
	for name, tc := range map[string]struct {
		applied *receipt.Record
		base    catalogue.State
		now     catalogue.State
		changes []PathChange
		want    string
	}{
		"first delivery": {nil, base, web(base, "1"), nil, "it was never built"},
		"new":            {record(base), base, web(base, "1"), nil, "it is new in the catalogue"},
		"lost":           {before, base, web(base, "1"), changes, "the registry has no image of this fingerprint"},
		"base":           {before, changed, web(changed, "1"), nil, "it is built on storefront, which changed"},
		"inputs":         {before, base, web(base, "2"), changes, "its inputs (web/a, web/b) changed"},
		"unknown inputs": {before, base, web(base, "2"), nil, "its inputs changed"},
		"platforms": {before, base, web(base, "1", catalogue.Field{Key: "platform.0001", Value: "linux/arm64"}), nil,
			"platforms: [linux/amd64] → [linux/amd64, linux/arm64]"},
		"all at once": {before, changed, web(changed, "2", catalogue.Field{Key: "platform.0001", Value: "linux/arm64"}), changes,
			"its inputs (web/a, web/b) changed; platforms: [linux/amd64] → [linux/amd64, linux/arm64]; it is built on storefront, which changed"},
	} {
		img := &image{state: tc.now, status: ImageStatus{Name: "web", Fingerprint: tc.now.Fingerprint}}
		w := &want{states: []catalogue.State{tc.base, tc.now}}
		if got := changedSince(t.Context(), img, w, &situation{applied: tc.applied}, tc.changes); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
