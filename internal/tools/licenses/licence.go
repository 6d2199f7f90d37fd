package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/google/licensecheck"
)

// allowed are the licences, by SPDX identifier, under which a module may be linked by anyone who embeds Pharos.
var allowed = map[string]bool{
	"0BSD": true, "Apache-2.0": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "MIT": true, "Unlicense": true,
}

// exceptions are further licences of single modules, each with its reason.
var exceptions = map[string]map[string]string{
	"github.com/cyphar/filepath-securejoin": {"MPL-2.0": "per file, linked unchanged, its source is the module's"},
	"github.com/opencontainers/go-digest":   {"CC-BY-SA-4.0": "of its documentation, which is not linked"},
}

// known is how much of a file's words must belong to licences that are known, in percent: what pkg.go.dev asks for.
const known = 75

var licenceFile = regexp.MustCompile(`(?i)^(un)?licen[cs]e([-.].*)?$|^copying([-.].*)?$`)

// licences returns the module's licences, sorted, and what is wrong with them.
func (m *module) licences() (ids, problems []string, err error) {
	found := map[string]bool{}
	for _, folder := range m.withParents() {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, nil, err
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
				continue
			}
			file := filepath.Join(folder, entry.Name())
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, nil, err
			}
			ofFile, problem := classify(text)
			if problem != "" {
				problems = append(problems, fmt.Sprintf("%s %s: %s: %s", m.Path, m.Version, entry.Name(), problem))
			}
			for _, id := range ofFile {
				found[id] = true
			}
		}
	}
	ids = slices.Sorted(maps.Keys(found))
	if len(ids) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Sprintf("%s %s: no licence file", m.Path, m.Version))
	}
	for _, id := range ids {
		if !allowed[id] && exceptions[m.Path][id] == "" {
			problems = append(problems, fmt.Sprintf("%s %s: licence %s is not in the list of allowed ones", m.Path, m.Version, id))
		}
	}
	return ids, problems, nil
}

// withParents returns the folders of linked packages and those above them, up to the module's root, sorted.
func (m *module) withParents() []string {
	all := map[string]bool{m.Dir: true}
	for folder := range m.folders {
		for ; folder != m.Dir && len(folder) > len(m.Dir); folder = filepath.Dir(folder) {
			all[folder] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// classify returns the licences that a file holds.
func classify(text []byte) (ids []string, problem string) {
	cov := licensecheck.Scan(text)
	if cov.Percent < known {
		return nil, fmt.Sprintf("only %.0f%% of it is the text of a known licence", cov.Percent)
	}
	for _, match := range cov.Match {
		// A link to a licence says where its text is, and grants nothing of its own.
		if !match.IsURL {
			ids = append(ids, match.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), ""
}
