package workstation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
)

// Variables implements takeover.Workstation: it reads the file that run.envFile names.
func (w *Workstation) Variables(of takeover.Workload) ([]environment.Name, error) {
	var d appsv1.Deployment
	if err := json.Unmarshal(of.Live, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", of.Subject(), err)
	}
	data, err := w.envFile(of)
	if err != nil {
		return nil, err
	}
	return environment.Names(environment.Request{Namespace: of.Namespace, Pod: d.Spec.Template, Container: of.Container, Run: of.Run, DotEnv: data})
}

// envFile returns what the file has that run.envFile names, as far as there is one. It
// has no mistake.
func (w *Workstation) envFile(of takeover.Workload) ([]byte, error) {
	if of.Run.EnvFile == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(w.Root, filepath.FromSlash(of.Run.EnvFile)))
	if err == nil {
		_, err = environment.ParseDotEnv(of.Run.EnvFile, data)
	}
	if err != nil {
		return nil, &lifecycle.Error{Op: "read", On: "run.envFile of image " + of.Image, Class: lifecycle.ErrSource, Err: err}
	}
	return data, nil
}
