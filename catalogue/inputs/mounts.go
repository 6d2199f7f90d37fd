package inputs

import (
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/dockerfile"
)

// mountKinds are what RUN mounts that is no file of the tree.
var mountKinds = []struct {
	what, field string
	declared    func(*catalogue.DockerfileBuild) []string
	mounts      func(*dockerfile.Plan) []dockerfile.Mount
}{
	{
		"secret", "secrets",
		func(b *catalogue.DockerfileBuild) []string { return b.Secrets },
		func(p *dockerfile.Plan) []dockerfile.Mount { return p.Secrets },
	},
	{
		"SSH agent", "ssh",
		func(b *catalogue.DockerfileBuild) []string { return b.SSH },
		func(p *dockerfile.Plan) []dockerfile.Mount { return p.SSH },
	},
}

// mounts finds the secrets and SSH agents that are mounted and not declared: such a
// Dockerfile is not built.
func (d *dockerfileCheck) mounts(plan *dockerfile.Plan) {
	d.moreMounts = d.moreMounts || !plan.AllMounts()
	for _, kind := range mountKinds {
		for _, m := range kind.mounts(plan) {
			if d.mounted[kind.field] == nil {
				d.mounted[kind.field] = map[string]bool{}
			}
			d.mounted[kind.field][m.ID] = true
			if !slices.Contains(kind.declared(d.image.Build.Dockerfile), m.ID) {
				d.say(d.file, fmt.Sprintf("%s:%d: RUN mounts the %s %s, which the recipe does not declare: add it to build.dockerfile.%s", d.file, m.Line, kind.what, m.ID, kind.field))
			}
		}
	}
}

// unmounted finds those that are declared and that no RUN of what is built mounts:
// a build would have to be given them for nothing.
func (d *dockerfileCheck) unmounted(b catalogue.DockerfileBuild) {
	if d.moreMounts {
		return
	}
	for _, kind := range mountKinds {
		for _, id := range kind.declared(&b) {
			if !d.mounted[kind.field][id] {
				d.say(d.file, fmt.Sprintf("build.dockerfile.%s: no RUN in %s that the image needs mounts the %s %s, and builds must be given it all the same: remove it", kind.field, d.file, kind.what, id))
			}
		}
	}
}
