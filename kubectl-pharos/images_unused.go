package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

func addKeep(cmd *cobra.Command, keep *int) {
	cmd.Flags().IntVar(keep, "keep", lifecycle.DefaultKeep, "How many of the newest receipts keep their images, beside the applied and the live one")
}

func checkKeep(keep int) error {
	if keep < 1 {
		return fmt.Errorf("--keep is %d, and must be at least 1", keep)
	}
	return nil
}

type unusedFields struct {
	Built       bool                  `json:"built"` // all of it is Pharos's own
	Digest      lifecycle.Digest      `json:"digest"`
	Fingerprint catalogue.Fingerprint `json:"fingerprint,omitempty"`
	Image       string                `json:"image"`
	Repository  string                `json:"repository"`
	Tags        []string              `json:"tags"`
}

// runUnused lists what of the target's images in its registry nobody needs.
func (o *imagesOptions) runUnused(ctx context.Context) error {
	l, used, err := o.usedImages(ctx, o.keep)
	if err != nil {
		return err
	}
	o.sayCounted()
	unused, err := l.UnusedImages(ctx, used)
	if err != nil {
		return err
	}
	if o.output.human() {
		return o.printUnused(unused)
	}
	return o.output.printImages(o.Out, "UnusedImage", unused)
}

// printImages writes a list of images of a registry.
func (o *output) printImages(w io.Writer, kind string, images []lifecycle.UnusedImage) error {
	var items []object
	for _, u := range images {
		item, err := newObject(kind, u.Reference(), unusedFields{
			Built: u.Built(), Digest: u.Digest, Fingerprint: u.Fingerprint, Image: u.Name, Repository: u.Repository, Tags: u.Tags,
		})
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return o.printList(w, kind+"List", items)
}

func (o *imagesOptions) printUnused(unused []lifecycle.UnusedImage) error {
	if len(unused) == 0 {
		linef(o.ErrOut, "there is nothing in the registry that no receipt names which is kept")
		return nil
	}
	var rows [][]any
	foreign := false
	for _, u := range unused {
		tags := strings.Join(u.Tags, ",")
		if u.Built() {
			tags = "<own>"
		}
		foreign = foreign || !u.Built()
		rows = append(rows, []any{u.Name, string(u.Digest), tags, u.Repository})
	}
	if err := o.output.table(o.Out, []column{{name: "Name"}, {name: "Digest"}, {name: "Tags"}, {name: "Repository", wide: true}}, rows); err != nil {
		return err
	}
	linef(o.ErrOut, "to delete them: kubectl pharos images delete --unused --keep %d", o.keep)
	if foreign {
		linef(o.ErrOut, "which leaves those whose tags are listed, since somebody else may use them: delete these by their digests")
	}
	return nil
}

// usedImages opens the target of HEAD, and says what of its registry is used: by
// the targets, too, that keep their images in the same folder.
func (s *shared) usedImages(ctx context.Context, keep int) (*lifecycle.Lifecycle, lifecycle.UsedImages, error) {
	fail := func(err error) (*lifecycle.Lifecycle, lifecycle.UsedImages, error) {
		return nil, lifecycle.UsedImages{}, err
	}
	_, commit, err := s.commit(ctx, "")
	if err != nil {
		return fail(err)
	}
	c, err := catalogueOf(ctx, commit.Tree)
	if err != nil {
		return fail(err)
	}
	t, err := s.targetAt(ctx, commit)
	if err != nil {
		return fail(err)
	}
	used := lifecycle.UsedImages{Keep: keep}
	for _, image := range c.Images {
		used.Images = append(used.Images, image.Name)
	}
	if used.Sharing, err = s.sharing(ctx, commit.Tree, t); err != nil {
		return fail(err)
	}
	l, err := s.lifecycle(t)
	if err != nil {
		return fail(err)
	}
	s.counted = append(s.counted, s.count(t))
	return l, used, nil
}
