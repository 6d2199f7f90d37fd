package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/examples/quickstart/shop"
)

// manyImages is how many images nothing happens to.
const manyImages = 100

// addPages adds images of files to a shop until it has that many.
func addPages(repo *shop.Repository, images int) error {
	const before = "images:\n- name: storefront\n"
	var b strings.Builder
	for i := range images - 3 {
		file := filepath.Join(repo.Dir(), "pages", fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, "page %d\n", i), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&b, "- name: page-%d\n  build: {files: {}}\n  inputs: [pages/%d]\n", i, i)
	}
	return repo.Replace("pharos.yaml", before, "images:\n"+b.String()+"- name: storefront\n")
}

// noopShop delivers a shop with a number of images, and returns the command that
// delivers it again.
func noopShop(ctx context.Context, b *bench, plugin, kubeconfig, namespace string, images int) (command, error) {
	dir, err := b.folder(namespace)
	if err != nil {
		return command{}, err
	}
	repository := b.registry() + "/shop"
	repo, err := shop.Create(ctx, dir, shop.Options{Namespace: namespace, Receipts: namespace + "-pharos", Push: repository, Pull: repository, Insecure: true})
	if err != nil {
		return command{}, err
	}
	if err := addPages(repo, images); err != nil {
		return command{}, err
	}
	if err := repo.Commit(ctx, "Open the shop"); err != nil {
		return command{}, err
	}
	reconcile := command{path: plugin, args: []string{"reconcile", "--repo", dir}, env: []string{"KUBECONFIG=" + kubeconfig}}
	fmt.Fprintf(b.progress, "delivering the shop of the quickstart, with %d images\n", images)
	deploy := reconcile
	deploy.args = []string{"deploy", "--repo", dir}
	if err := deploy.run(ctx); err != nil {
		return command{}, err
	}
	again := reconcile
	again.args = append(again.args, "--output", "jsonpath={.plan.decision}")
	if decision, err := again.output(ctx); err != nil || decision != "unchanged" {
		return command{}, fmt.Errorf("the second reconcile was to do nothing, and its plan is %q: %w", decision, err)
	}
	return reconcile, nil
}
