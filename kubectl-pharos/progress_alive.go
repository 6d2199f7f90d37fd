package main

import (
	"fmt"
	"strings"
	"time"
)

// alive is how often the builds are named that nothing was heard of.
const alive = 10 * time.Second

// begun is a build that is under way.
type begun struct {
	image string
	at    time.Time
}

// keepAlive gives a sign of life of the builds whenever it ticks, until stop is
// called.
func (p *progress) keepAlive(ticks <-chan time.Time) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case now := <-ticks:
				p.alive(now)
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// alive names the builds that take long, and says once how to see more of them.
func (p *progress) alive(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var long []string
	for _, b := range p.builds {
		if took := now.Sub(b.at); took >= alive {
			long = append(long, fmt.Sprintf("%s (%s)", b.image, took.Truncate(time.Second)))
		}
	}
	if len(long) == 0 {
		return
	}
	hint := ""
	if !p.verbose && !p.hinted {
		hint, p.hinted = "; --build-output shows what the build tools print", true
	}
	linef(p.w, "still building %s%s", strings.Join(long, ", "), hint)
}
