package processgroup

import "os/exec"

// Run runs a command as Start does, and waits for it.
func Run(cmd *exec.Cmd) error {
	g, err := Start(cmd)
	if err != nil {
		return err
	}
	return g.Wait()
}
