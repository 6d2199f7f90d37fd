package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	isc = `Copyright (c) 2026 The Authors

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted,
provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
`
	mpl = `This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not
distributed with this file, You can obtain one at https://mozilla.org/MPL/2.0/.
`
	own = "You may look at this code on Sundays, if the weather permits, and must tell nobody what it does or where it is.\n"
)

func TestLicences(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path     string
		files    map[string]string
		ids      []string
		problems []string
	}{
		"allowed":           {files: map[string]string{"LICENSE": isc}, ids: []string{"ISC"}},
		"spelt otherwise":   {files: map[string]string{"Licence.md": isc}, ids: []string{"ISC"}},
		"none":              {files: map[string]string{"license.go": "package m\n"}, problems: []string{"no licence file"}},
		"unknown":           {files: map[string]string{"LICENSE": own}, problems: []string{"LICENSE: only 0%"}},
		"empty":             {files: map[string]string{"LICENSE": ""}, problems: []string{"LICENSE: only 0%"}},
		"forbidden":         {files: map[string]string{"LICENSE": mpl}, ids: []string{"MPL-2.0"}, problems: []string{"licence MPL-2.0"}},
		"exception":         {path: "github.com/cyphar/filepath-securejoin", files: map[string]string{"COPYING.md": mpl}, ids: []string{"MPL-2.0"}},
		"in a linked part":  {files: map[string]string{"LICENSE": isc, "part/COPYING": mpl}, ids: []string{"ISC", "MPL-2.0"}, problems: []string{"MPL-2.0"}},
		"in another folder": {files: map[string]string{"LICENSE": isc, "other/COPYING": mpl}, ids: []string{"ISC"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &module{Path: "example.test/m", Dir: t.TempDir()}
			if tt.path != "" {
				m.Path = tt.path
			}
			tt.files["part/code/code.go"] = "package code\n"
			for file, text := range tt.files {
				file = filepath.Join(m.Dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			m.folders = map[string]bool{filepath.Join(m.Dir, "part", "code"): true}
			ids, problems, err := m.licences()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ids, tt.ids) {
				t.Errorf("licences %q, want %q", ids, tt.ids)
			}
			if len(problems) != len(tt.problems) {
				t.Fatalf("problems %q, want %q", problems, tt.problems)
			}
			for i, want := range tt.problems {
				if !strings.Contains(problems[i], want) {
					t.Errorf("problem %q, want %q", problems[i], want)
				}
			}
		})
	}
}

// TestOwnModule reads the modules that this program itself links.
func TestOwnModule(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ok, err := run(&out, ".")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(out.String())
	if !ok || len(fields) != 3 || fields[0] != "github.com/google/licensecheck" || fields[2] != "[BSD-3-Clause]" {
		t.Errorf("%v, printed %q", ok, out.String())
	}
}
