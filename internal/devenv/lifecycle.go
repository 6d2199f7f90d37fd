package devenv

import (
	"context"
	"errors"
)

// ErrNotStarted is returned when an operation needs a cluster that this process started.
var ErrNotStarted = errors.New("this process did not start the cluster")

// ErrStopped is returned when an operation needs a cluster that was not stopped.
var ErrStopped = errors.New("the cluster was stopped")

// ErrHasNode is returned when a cluster with a real node is to be restarted.
var ErrHasNode = errors.New("a cluster with a real node cannot be restarted")

// Stop ends the cluster and waits until its process is gone, and with it a throw-away state folder. Further calls do
// nothing. An existing cluster is left alone.
func (c *Cluster) Stop() error {
	if c.launch == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	var err error
	if c.process != nil {
		err = c.process.stop()
		c.process = nil
	}
	return errors.Join(err, c.launch.cleanUp())
}

// Kill ends the cluster's process with SIGKILL (on Windows: TerminateProcess) and waits until it is gone. The data stays for
// [Cluster.Resume]. It returns [ErrNotStarted] for an existing cluster and [ErrStopped] after [Cluster.Stop].
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usable(); err != nil {
		return err
	}
	if c.process != nil {
		c.process.kill()
		c.process = nil
	}
	return nil
}

// Resume starts the cluster's process again after [Cluster.Kill], with the same data, address and credentials, and waits until it
// is ready; if it runs already, it does nothing. It returns [ErrNotStarted] for an existing cluster, [ErrStopped] after
// [Cluster.Stop], or a *[StartError]; after that one the cluster is stopped.
func (c *Cluster) Resume(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resume(ctx)
}

// Restart ends the cluster's process in the orderly way and starts it again, with the same data, address and
// credentials. While it is away, clients see refused connections. The errors are those of [Cluster.Resume].
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usable(); err != nil {
		return err
	}
	if c.process != nil {
		err := c.process.stopKeepingState()
		c.process = nil
		if err != nil {
			return err
		}
	}
	return c.resume(ctx)
}

func (c *Cluster) resume(ctx context.Context) error {
	if err := c.usable(); err != nil {
		return err
	}
	if c.process != nil {
		return nil
	}
	// What was under way when the process ended will never complete in the audit log.
	if err := c.cutAudit(); err != nil {
		return err
	}
	p, err := c.launch.start(ctx)
	if err != nil {
		c.stopped = true
		return err
	}
	c.process = p
	return nil
}

// usable wants mu to be held.
func (c *Cluster) usable() error {
	switch {
	case c.launch == nil:
		return ErrNotStarted
	case c.launch.hasNode():
		return ErrHasNode
	case c.stopped:
		return ErrStopped
	}
	return nil
}
