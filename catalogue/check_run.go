package catalogue

import (
	"fmt"
	"path"
	"slices"
)

// envFiles returns the files of variables that the images' programs get, sorted.
func (c *Catalogue) envFiles() []string {
	var files []string
	for _, image := range c.Images {
		if image.Run != nil && image.Run.EnvFile != "" {
			files = append(files, image.Run.EnvFile)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// checkEnvFiles finds files of variables among inputs. Whether the tree has them does
// not count: they lie in working trees.
func checkEnvFiles(inputs Patterns, files []string) []Finding {
	var findings []Finding
	for _, file := range files {
		if inputs.Match(file) {
			findings = append(findings, Finding{Path: file, Message: fmt.Sprintf(
				"%s, which run.envFile names, is among the inputs, and its secrets could reach the image: add %q to them, and keep the file out of Git", file, "!**/"+path.Base(file))})
		}
	}
	return findings
}
