package devenv

import (
	"io"
	"time"
)

// Options say how a cluster is started. The zero value is a throw-away cluster with a hollow node.
type Options struct {
	// Output receives lines of progress, above all of a build that takes minutes. The default discards them.
	Output io.Writer
	// StateDir is the folder for the cluster's data, credentials and logs. It is created where it is missing and is
	// kept when the cluster stops, so that a later Start with the same folder finds the same objects, port and
	// credentials. The default is a new folder below the system's temporary folder, which is removed at the end.
	StateDir string
	// NoNode leaves out the hollow node: every pod then stays Pending.
	NoNode bool
	// ReadyTimeout bounds how long the cluster may take to become ready once its program is built.
	// The default is two minutes, for machines that are busy.
	ReadyTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = 2 * time.Minute
	}
	return o
}
