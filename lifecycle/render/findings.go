package render

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
)

// usedImage is an image of an object's pods.
type usedImage struct {
	by  string // "container api"
	ref string
}

// imagesOf collects the images of all pods that an object describes, wherever
// its kind keeps the pod's description: it is known by its lists of containers
// and volumes. Definitions of resources describe no pods.
func imagesOf(o lifecycle.Object, content map[string]any) []usedImage {
	if o.Kind == "CustomResourceDefinition" {
		return nil
	}
	var used []usedImage
	collectImages(content, &used)
	return used
}

// containerLists are the pod's fields that hold containers.
var containerLists = []struct{ field, one string }{
	{"containers", "container"},
	{"initContainers", "init container"},
	{"ephemeralContainers", "ephemeral container"},
}

func collectImages(v any, used *[]usedImage) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collectImages(e, used)
		}
	case map[string]any:
		for _, l := range containerLists {
			for _, c := range mapsIn(v[l.field]) {
				if ref, ok := c["image"].(string); ok {
					*used = append(*used, usedImage{fmt.Sprintf("%s %v", l.one, c["name"]), ref})
				}
			}
		}
		for _, volume := range mapsIn(v["volumes"]) {
			image, _ := volume["image"].(map[string]any)
			if ref, ok := image["reference"].(string); ok {
				*used = append(*used, usedImage{fmt.Sprintf("volume %v", volume["name"]), ref})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collectImages(v[key], used)
		}
	}
}

// mapsIn are the elements of a list of maps.
func mapsIn(v any) []map[string]any {
	list, _ := v.([]any)
	var ms []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			ms = append(ms, m)
		}
	}
	return ms
}

var byDigest = lazyregexp.New(`@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[0-9a-fA-F]{32,}$`)

// findings reports, in this order, images of the request that nothing uses, be
// it an object or another image, in the request's order, and images without a
// digest, in the objects' order.
func (s *scanner) findings(images []lifecycle.ImageRef, objects []lifecycle.Object, used [][]usedImage) []lifecycle.Finding {
	var fs []lifecycle.Finding
	if len(s.metadata) > 0 {
		fs = append(fs, lifecycle.Finding{
			Subject: "buildMetadata",
			Message: "is left out: what it adds to the objects depends on where and by what they are rendered",
		})
	}
	refs := map[string]bool{}
	for _, us := range used {
		for _, u := range us {
			refs[u.ref] = true
		}
	}
	for _, image := range images {
		ref := image.Repository + "@" + string(image.Digest)
		if !image.Base && !image.Artifact && !refs[ref] && !mentioned(objects, ref) {
			fs = append(fs, lifecycle.Finding{Subject: "image " + image.Name, Message: whyUnused(image, objects, used)})
		}
	}
	for i, o := range objects {
		for _, u := range used[i] {
			if !byDigest.MatchString(u.ref) {
				fs = append(fs, lifecycle.Finding{
					Subject: objectName(o),
					Message: fmt.Sprintf("%s uses %q, which may be another image tomorrow: name it by its digest", u.by, u.ref),
				})
			}
		}
	}
	return fs
}

// mentioned looks for an image elsewhere than in pods: a kustomization's
// configurations can name more fields of images.
func mentioned(objects []lifecycle.Object, ref string) bool {
	quoted := []byte(`"` + ref + `"`)
	for _, o := range objects {
		if bytes.Contains(o.JSON, quoted) {
			return true
		}
	}
	return false
}

// whyUnused explains why no object has an image of the catalogue.
func whyUnused(image lifecycle.ImageRef, objects []lifecycle.Object, used [][]usedImage) string {
	const none = "is used by no object of the overlay"
	for i, o := range objects {
		for _, u := range used[i] {
			name := imageName(u.ref)
			if name != image.Name && path.Base(name) == path.Base(image.Name) {
				return fmt.Sprintf("%s: %s uses %q; give both the same name", none, objectName(o), name)
			}
		}
	}
	return none
}

// imageName is a reference without its tag and digest. A colon before the last
// slash belongs to a port.
func imageName(ref string) string {
	name, _, _ := strings.Cut(ref, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name
}
