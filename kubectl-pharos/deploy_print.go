package main

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/lifecycle"
)

// printManifests writes objects as a stream of YAML documents.
func printManifests(w io.Writer, objects []lifecycle.Object) error {
	for _, o := range objects {
		data, err := yaml.JSONToYAML(o.JSON)
		if err != nil {
			return fmt.Errorf("print %s %s: %w", o.Kind, o.Name, err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", data); err != nil {
			return err
		}
	}
	return nil
}
