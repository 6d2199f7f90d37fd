package argocd

import (
	"errors"
	"os"
)

func terminate(p *os.Process) error { return p.Kill() }

func (p *process) pause() error { return errors.ErrUnsupported }

func (p *process) resume() error { return errors.ErrUnsupported }
