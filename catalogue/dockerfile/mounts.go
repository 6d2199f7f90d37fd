package dockerfile

import (
	"cmp"
	"path"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// AllMounts says whether Secrets and SSH are all that is mounted: no id depends on
// what the Dockerfile does not tell, and no frontend other than Docker's, which may
// take what it likes, reads the file. What the ONBUILD of a base mounts is not
// known in any case.
func (p *Plan) AllMounts() bool { return !p.unknownMounts && isDockers(p.Frontend) }

// isDockers says whether a frontend is the built-in one or one of Docker's.
func isDockers(frontend string) bool {
	return frontend == "" || strings.HasPrefix(strings.TrimPrefix(frontend, "docker.io/"), "docker/dockerfile")
}

// defaultAgent is the id of the SSH agent that a mount without one means.
const defaultAgent = "default"

// secretID is the id of the secret that a mount means: its target's name if it
// has no other.
func secretID(m *instructions.Mount) string {
	if id := cmp.Or(m.Source, m.CacheID); id != "" || m.Target == "" {
		return id
	}
	return path.Base(m.Target)
}

// mount notes a mount, if its id is known.
func (p *planner) mount(list *[]Mount, line int, id string, unknown map[string]string) {
	if _, ok := unknown[id]; ok {
		p.plan.unknownMounts = true
	} else if id != "" {
		*list = append(*list, Mount{Line: line, ID: id})
	}
}
