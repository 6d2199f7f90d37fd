package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// nodeLook is what an operation knows of the target's nodes.
type nodeLook struct {
	platforms []string
	// hidden says that they may not be looked at; nil if they may.
	hidden *Finding
}

// lookAtNodes asks once for the platforms of the target's nodes. That they may
// not be listed stops nothing, and is a finding.
func (o *operation) lookAtNodes(ctx context.Context) error {
	if o.nodes != nil {
		return nil
	}
	platforms, err := o.Cluster.Platforms(ctx)
	look := &nodeLook{platforms: platforms}
	switch {
	case errors.Is(err, ErrForbidden):
		look.hidden = &Finding{Subject: "nodes", Message: fmt.Sprintf("it is not checked that the images are for the nodes' platforms: %s",
			strings.ReplaceAll(err.Error(), "\n", ". "))}
	case err != nil:
		return err
	}
	o.nodes = look
	return nil
}

// nodeFindings are what there is to say of the nodes.
func (o *operation) nodeFindings() []Finding {
	if o.nodes == nil || o.nodes.hidden == nil {
		return nil
	}
	return []Finding{*o.nodes.hidden}
}

// decideWithNodes is decide, which waits for the registry, while the target's
// nodes are asked for.
func (o *operation) decideWithNodes(ctx context.Context, w *want, s *situation) (p Plan, images []*image, err error) {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return o.lookAtNodes(gctx) })
	g.Go(func() (err error) { p, images, err = o.decide(gctx, w, s); return err })
	return p, images, g.Wait()
}

// checkCoverage refuses images that are not for every node that their pods may
// be placed on, all of them at once. Where the images are for the platforms of
// all nodes, which node is for whom need not be known.
func (o *operation) checkCoverage(ctx context.Context, tree source.Tree, images []*image) error {
	lacks := func(img *image) bool { return len(uncovered(o.nodes.platforms, img.platforms)) > 0 }
	if o.nodes.hidden != nil || !slices.ContainsFunc(images, lacks) {
		return nil
	}
	rendering, err := o.render(ctx, tree, images)
	if err != nil {
		return err
	}
	placements, err := o.Cluster.Placements(ctx, rendering.Objects)
	if err != nil {
		return err
	}
	var errs []error
	for _, img := range images {
		errs = append(errs, covers(img, placements)...)
	}
	return errors.Join(errs...)
}

// covers returns an error for each platform that the image is not for and its
// pods may be placed on.
func covers(img *image, placements []Placement) (errs []error) {
	said := map[string]bool{}
	for _, at := range placements {
		if !slices.ContainsFunc(at.Images, func(ref string) bool { return strings.HasPrefix(ref, img.status.Repository+"@") }) {
			continue
		}
		for _, platform := range uncovered(slices.Sorted(maps.Keys(at.Nodes)), img.platforms) {
			if said[platform] {
				continue
			}
			said[platform] = true
			errs = append(errs, notFor(img, at, platform))
		}
	}
	return errs
}

func notFor(img *image, at Placement, platform string) error {
	all := append(slices.Clone(img.platforms), platform)
	slices.Sort(all)
	return &Error{Op: "deliver", On: "image " + img.status.Name, Class: ErrSource,
		Err: fmt.Errorf("it is not for %s, and pods of %s %s may be placed on node %s, which is %s",
			platform, at.Object.Kind, qualified(at.Object), at.Nodes[platform], platform),
		Advice: fmt.Sprintf("Add it to the image in %s: platforms: [%s]. Or keep the pods off such nodes: nodeSelector: {kubernetes.io/arch: …}.",
			catalogue.FileName, strings.Join(all, ", ")),
	}
}

func qualified(o Object) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// uncovered returns the nodes' platforms that no platform of an image is for. A
// node tells its operating system and architecture, and no variant of it: any
// variant of an image is taken for the right one.
func uncovered(nodes, image []string) []string {
	var none []string
	for _, node := range nodes {
		if !slices.ContainsFunc(image, func(p string) bool { return withoutVariant(p) == withoutVariant(node) }) {
			none = append(none, node)
		}
	}
	return none
}

func withoutVariant(platform string) string {
	system, rest, _ := strings.Cut(platform, "/")
	architecture, _, _ := strings.Cut(rest, "/")
	return system + "/" + architecture
}
