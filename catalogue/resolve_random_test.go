package catalogue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/sizetest"
)

// Whatever is built on what: an image has a fingerprint if nothing that it is
// built on leads back to itself, and the error of each other one says why.
func TestRandomDependencies(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	const n = 7
	var fine, cyclic, behind int
	for range sizetest.Of(150, 3000) {
		var on, reach [n][n]bool
		var files []file
		c := &Catalogue{}
		for i := range n {
			var text strings.Builder
			text.WriteString("FROM scratch\n")
			for j := range n {
				if r.IntN(5) == 0 {
					on[i][j] = true
					fmt.Fprintf(&text, "COPY --from=i%d /x /x%d\n", j, j)
				}
			}
			reach[i] = on[i]
			name := fmt.Sprintf("i%d", i)
			files = append(files, file{path: name + "/Dockerfile", content: text.String()})
			c.Images = append(c.Images, Image{Name: name, Platforms: []string{"linux/amd64"}, Inputs: mustPatterns(t, name),
				Build: Build{Dockerfile: &DockerfileBuild{Path: name + "/Dockerfile"}}})
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		states, failed := statesOf(t, c, files...)
		for i := range n {
			name := fmt.Sprintf("i%d", i)
			var cycle *CycleError
			var dependency *DependencyError
			isCycle, isBehind := errors.As(failed[name], &cycle), errors.As(failed[name], &dependency)
			stuck := false
			for j := range n {
				stuck = stuck || reach[i][j] && reach[j][j]
			}
			switch {
			case reach[i][i]:
				cyclic++
				if !isCycle || isBehind || !slices.Contains(cycle.Images, name) {
					t.Fatalf("%s is built on itself: %v, in %v", name, failed[name], files)
				}
				for k, from := range cycle.Images {
					to := cycle.Images[(k+1)%len(cycle.Images)]
					if !on[from[1]-'0'][to[1]-'0'] {
						t.Fatalf("%s is not built on %s, in %v", from, to, cycle.Images)
					}
				}
			case stuck:
				behind++
				if isCycle || !isBehind {
					t.Fatalf("%s is built on what is built on itself: %v", name, failed[name])
				}
			default:
				fine++
				s := states[name]
				var want []string
				for j := range n {
					if on[i][j] {
						want = append(want, fmt.Sprintf("i%d", j))
						if value(s, fmt.Sprintf("dockerfile.image.%04d", len(want)-1)) != string(states[want[len(want)-1]].Fingerprint) {
							t.Fatalf("%s: %v", name, s.Preimage)
						}
					}
				}
				if failed[name] != nil || !slices.Equal(s.Dependencies, want) {
					t.Fatalf("%s: %v, dependencies %v, want %v", name, failed[name], s.Dependencies, want)
				}
			}
		}
	}
	if min(fine, cyclic, behind) < 50 {
		t.Errorf("%d images are fine, %d cyclic and %d behind: that tests little", fine, cyclic, behind)
	}
}
