package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path of the main module.
const Module = "github.com/pharos-dev/pharos"

// Package is one package of the main module, or one that it links.
type Package struct {
	// Path is the import path, Name the package's name, such as "main", and Dir its folder.
	Path, Name, Dir string
	// Deps are the import paths of all that it links, tests left out.
	Deps []string
	// GoFiles are its sources on this platform, TestGoFiles and XTestGoFiles its tests.
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// A rule about what packages link.
type linkRule struct {
	from   func(path string) bool
	to     func(path string) bool
	reason string
}

// linkRules are the layers of the project: the plugin, then implementations, then lifecycle, then the four that it
// puts in order.
func linkRules() []linkRule {
	rules := []linkRule{
		{
			from: func(p string) bool {
				return below(p, "catalogue") || p == Module+"/receipt" || below(p, "receipt/dir") || p == Module+"/lifecycle/supervise"
			},
			to: func(p string) bool {
				return (strings.HasPrefix(p, "k8s.io/") || strings.HasPrefix(p, "sigs.k8s.io/")) && p != "sigs.k8s.io/yaml"
			},
			reason: "the catalogue and the cores of receipt and supervise work without any Kubernetes code",
		},
		{
			from: func(p string) bool { return p == Module+"/lifecycle" },
			to: func(p string) bool {
				return strings.HasPrefix(p, Module+"/lifecycle/") || strings.HasPrefix(p, Module+"/receipt/") ||
					strings.HasPrefix(p, Module+"/lease/")
			},
			reason: "lifecycle knows interfaces, never an implementation",
		},
		{
			from:   func(p string) bool { return !below(p, "kubectl-pharos") },
			to:     func(p string) bool { return below(p, "kubectl-pharos") },
			reason: "what the plugin can do, the packages can do without it",
		},
		{
			from: public,
			to: func(p string) bool {
				return below(p, "examples") || below(p, "internal/bench") || below(p, "internal/ci") ||
					below(p, "internal/devenv") || below(p, "internal/faultproxy")
			},
			reason: "tools of the development do not reach a user's program",
		},
		{
			from:   func(p string) bool { return public(p) && !strings.HasSuffix(p, "test") },
			to:     func(p string) bool { return p == "testing" },
			reason: "only a package for tests, named …test, links package testing",
		},
	}
	parts := []string{"catalogue", "receipt", "lease", "reaper"}
	for _, part := range parts {
		rules = append(rules, linkRule{
			from: func(p string) bool { return below(p, part) },
			to: func(p string) bool {
				return below(p, "lifecycle") || slices.ContainsFunc(parts, func(other string) bool { return other != part && below(p, other) })
			},
			reason: "catalogue, receipt, lease and reaper stand alone: lifecycle puts them together",
		})
	}
	return rules
}

// below says whether an import path is the main module's folder dir or inside of it.
func below(path, dir string) bool {
	root := Module
	if dir != "" {
		root += "/" + dir
	}
	return path == root || strings.HasPrefix(path, root+"/")
}

// public says whether another module can import the package, commands and examples left out.
func public(path string) bool {
	return below(path, "") && !below(path, "internal") && !strings.Contains(path, "/internal/") &&
		!below(path, "kubectl-pharos") && !below(path, "examples")
}

// checkLinks returns every link that a rule forbids.
func checkLinks(packages []Package) []string {
	var findings []string
	for _, p := range packages {
		for _, rule := range linkRules() {
			if !rule.from(p.Path) {
				continue
			}
			for _, dep := range p.Deps {
				if rule.to(dep) {
					findings = append(findings, fmt.Sprintf("%s links %s: %s", p.Path, dep, rule.reason))
				}
			}
		}
	}
	return findings
}
