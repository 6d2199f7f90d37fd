package takeover

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/receipt"
)

// Plan is what a takeover would do. It has no values of the workloads' environment, so
// that it may be printed.
type Plan struct {
	Target     string `json:"target"`
	ClusterUID string `json:"clusterUID"`
	// Receipt is the target's live receipt, and Commit what that delivered.
	Receipt receipt.ID `json:"receipt,omitempty"`
	Commit  source.ID  `json:"commit,omitempty"`
	// Tree is the ID of the working tree.
	Tree source.ID `json:"tree"`
	// Changed are the images whose fingerprint differs from the receipt's, in the
	// catalogue's order.
	Changed []ChangedImage `json:"changed"`
	// Workloads are what is taken over, sorted by namespace and name.
	Workloads []Workload `json:"workloads"`
	// Covers are the Applications that the lease covers, which own the workloads,
	// sorted. Where nothing but Pharos brings the objects, there are none, and the
	// lease covers the target.
	Covers []string `json:"covers"`
	// Silence is after how many seconds without a sign of life the target's controller
	// puts the workloads back; 0 for at the end of the lease.
	Silence int64 `json:"silence,omitempty"`
	// Blocked is all that stands in the way.
	Blocked []Block `json:"blocked,omitempty"`
	// Warnings are what a person should know.
	Warnings []lifecycle.Finding `json:"warnings,omitempty"`
}

// ChangedImage is an image that the working tree changes.
type ChangedImage struct {
	Name string `json:"name"`
	// Reason is one line.
	Reason string `json:"reason"`
}

// Workload is a Deployment that is taken over.
type Workload struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	// Container is the one that is replaced, and Image is the image of the catalogue
	// that runs in it.
	Container string `json:"container"`
	Image     string `json:"image"`
	// Application is what brings it to the target; empty if Pharos itself does.
	Application string `json:"application,omitempty"`
	// Returns names what puts it back if everybody else is gone.
	Returns string `json:"returns,omitempty"`
	// Command is what runs on the workstation; empty if that is found in the image's
	// folder.
	Command []string `json:"command"`
	// Environment are the variables that reach the process, without their values.
	Environment []environment.Name `json:"environment"`
	// Forwards are the Services that the process reaches by a local port, and Ports
	// where it listens on another port than the container.
	Forwards []Forward `json:"forwards,omitempty"`
	Ports    []Port    `json:"ports,omitempty"`

	// Run is how the image runs, Build how it is built, and Inputs are its files.
	Run    catalogue.Run      `json:"-"`
	Build  catalogue.Build    `json:"-"`
	Inputs catalogue.Patterns `json:"-"`
	// Declared is the Deployment as Git declares it, and Live as it is on the
	// target, both as JSON.
	Declared []byte `json:"-"`
	Live     []byte `json:"-"`
}

// Forward is a Service of the cluster that the process reaches on the workstation.
type Forward struct {
	// Service is "service:port", or "service.namespace:port".
	Service string `json:"service"`
	// Local is the port on the workstation; 0 for any free one.
	Local uint16 `json:"local,omitempty"`
	// Environment are the variables in which the address is replaced.
	Environment []string `json:"environment,omitempty"`
}

// Port is a port of the container, and where the process listens for it.
type Port struct {
	Container   uint16   `json:"container"`
	Local       uint16   `json:"local"`
	Environment []string `json:"environment,omitempty"`
}

// Subject is how messages name a workload: "Deployment shop/api".
func (w Workload) Subject() string { return "Deployment " + w.Namespace + "/" + w.Name }

// Block is something that stands in the way of a takeover.
type Block struct {
	// Subject is what it is about: "Deployment shop/api", "image web", "target devbox".
	Subject string `json:"subject"`
	// Reason is one line.
	Reason string `json:"reason"`
	// Paths are the paths that it is about.
	Paths []string `json:"paths,omitempty"`
	// Next is what helps, one line.
	Next string `json:"next,omitempty"`

	// unknown says that it is a name that nothing is called by.
	unknown bool
}

// Unchanged says that there is nothing to take over: the working tree's images are
// those of the live receipt, nothing else of the tree would reach the target, and
// nobody asked for a workload by name.
func (p Plan) Unchanged() bool { return len(p.Workloads) == 0 && len(p.Blocked) == 0 }

// Err is a *RefusedError if something stands in the way, ErrUnchanged if there is
// nothing to take over, and else nil.
func (p Plan) Err() error {
	switch {
	case len(p.Blocked) > 0:
		return &RefusedError{Target: p.Target, Blocked: p.Blocked}
	case p.Unchanged():
		return fmt.Errorf("%w: every image of the working tree is as receipt %s of target %q has it", ErrUnchanged, p.Receipt.Short(), p.Target)
	}
	return nil
}

// ErrUnchanged is matched by the error of a plan by which nothing is taken over.
var ErrUnchanged = errors.New("there is nothing to take over")

// RefusedError has all that stands in the way of a takeover. It is a
// lifecycle.ErrBlocked, or ErrUnknownWorkload if it has a name that nothing is called by.
type RefusedError struct {
	Target  string
	Blocked []Block
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "target %q cannot be taken over:", e.Target)
	var next []string
	for _, block := range e.Blocked {
		fmt.Fprintf(&b, "\n  %s: %s", block.Subject, block.Reason)
		for _, p := range block.Paths {
			fmt.Fprintf(&b, "\n    %s", p)
		}
		if block.Next != "" && !contains(next, block.Next) {
			next = append(next, block.Next)
		}
	}
	for _, n := range next {
		b.WriteString("\n" + n)
	}
	return b.String()
}

// Is reports that a RefusedError is a lifecycle.ErrBlocked, or ErrUnknownWorkload.
func (e *RefusedError) Is(target error) bool {
	if slices.ContainsFunc(e.Blocked, func(b Block) bool { return b.unknown }) {
		return target == ErrUnknownWorkload
	}
	return target == lifecycle.ErrBlocked
}
