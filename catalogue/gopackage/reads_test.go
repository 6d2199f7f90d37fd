package gopackage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// shop is a module with most of what a package can be made of.
const shop = `
-- go.mod --
module shop.example

go 1.26.0
-- go.sum --
-- README.md --
-- services/api/main.go --
package main

import (
	_ "shop.example/libs/log"
	_ "shop.example/web"
)

func main() {}
-- services/api/main_test.go --
package main

import _ "shop.example/libs/onlytests"
-- services/api/default.pgo --
-- services/worker/main.go --
package main

import _ "shop.example/libs/log"

func main() {}
-- services/worker/extra.go --
//go:build extra

package main

import _ "shop.example/libs/extra"
-- libs/log/log.go --
package log

func Sum() int
-- libs/log/sum_amd64.s --
#include "sum.h"
-- libs/log/sum_arm64.s --
-- libs/log/sum.h --
-- libs/log/log_windows.go --
package log
-- libs/extra/extra.go --
package extra
-- libs/onlytests/x.go --
package onlytests
-- libs/unused/unused.go --
package unused
-- web/web.go --
package web

import "embed"

//go:embed static all:hidden *.txt
var files embed.FS
-- web/a.txt --
-- web/b.md --
-- web/static/index.html --
-- web/static/.dotfile --
-- web/static/css/site.css --
-- web/hidden/.dotfile --
`

// Tags whose templates stand for the platform choose files of each.
func TestReadsWithTemplates(t *testing.T) {
	t.Parallel()
	f := open(t, makeTree(t, `
-- go.mod --
module m
go 1.26.0
-- main.go --
package main
func main() {}
-- arm.go --
//go:build for_arm64
package main
`, nil))
	all := lines(t, f, catalogue.GoBuild{Package: ".", Tags: []string{"for_{{.Arch}}"}}, "linux/arm64")
	if !slices.ContainsFunc(all, func(l string) bool { return strings.Contains(l, " arm.go") }) {
		t.Errorf("for arm64 it reads %q", all)
	}
	all = lines(t, f, catalogue.GoBuild{Package: ".", Tags: []string{"for_{{.Arch}}"}}, "linux/amd64")
	if slices.ContainsFunc(all, func(l string) bool { return strings.Contains(l, " arm.go") }) {
		t.Errorf("for amd64 it reads %q", all)
	}
	all = lines(t, f, catalogue.GoBuild{Package: ".", Tags: []string{"{{.Date}}"}})
	if !slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, "problem build.go.tags[0] is ") }) {
		t.Errorf("with a tag that cannot be it reads %q", all)
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	f := open(t, makeTree(t, shop, nil))
	api := []string{
		"module go.mod ", "module go.sum ",
		"source libs/log/log.go shop.example/libs/log", "source libs/log/sum.h shop.example/libs/log", "source libs/log/sum_amd64.s shop.example/libs/log",
		"profile services/api/default.pgo ", "source services/api/main.go shop.example/services/api",
		"embedded web/a.txt shop.example/web", "embedded web/hidden/.dotfile shop.example/web",
		"embedded web/static/css/site.css shop.example/web", "embedded web/static/index.html shop.example/web",
		"source web/web.go shop.example/web",
	}
	worker := []string{"module go.mod ", "module go.sum ",
		"source libs/log/log.go shop.example/libs/log", "source libs/log/sum.h shop.example/libs/log", "source libs/log/sum_amd64.s shop.example/libs/log",
		"source services/worker/main.go shop.example/services/worker"}
	with := func(list []string, at int, more ...string) []string {
		return append(append(append([]string{}, list[:at]...), more...), list[at:]...)
	}
	for name, c := range map[string]struct {
		build     catalogue.GoBuild
		platforms []string
		want      []string
	}{
		"a package":       {build: catalogue.GoBuild{Package: "./services/api"}, want: api},
		"another package": {build: catalogue.GoBuild{Package: "./services/worker"}, want: worker},
		"for another architecture": {
			build: catalogue.GoBuild{Package: "./services/worker"}, platforms: []string{"linux/arm64"},
			want: with(worker[:4], 4, "source libs/log/sum_arm64.s shop.example/libs/log", worker[5]),
		},
		"for several": {
			build: catalogue.GoBuild{Package: "./services/worker"}, platforms: []string{"linux/amd64", "linux/arm64", "linux/arm/v7"},
			want: with(worker, 5, "source libs/log/sum_arm64.s shop.example/libs/log"),
		},
		"with a tag": {
			build: catalogue.GoBuild{Package: "./services/worker", Tags: []string{"extra"}},
			want: append(with(worker[:5], 2, "source libs/extra/extra.go shop.example/libs/extra"),
				"source services/worker/extra.go shop.example/services/worker", worker[5]),
		},
		"with assets": {
			build: catalogue.GoBuild{Package: "./services/worker", Assets: []string{"README.md", "web/static", "gone"}},
			want: append(with(worker, 2), "asset web/static/.dotfile ", "asset web/static/css/site.css ", "asset web/static/index.html ",
				"problem gone: is an asset, and the tree has no such file or folder"),
		},
		"no package": {
			build: catalogue.GoBuild{Package: "./web/static"},
			want:  []string{"module go.mod ", "module go.sum ", "problem no Go files in web/static"},
		},
		"no folder": {
			build: catalogue.GoBuild{Package: "./gone"},
			want:  []string{"module go.mod ", "module go.sum ", "problem gone: the go command finds no package here"},
		},
		"no platform": {
			build: catalogue.GoBuild{Package: "./services/worker"}, platforms: []string{"linux"},
			want: []string{"module go.mod ", "module go.sum ",
				`problem platform "linux" is no platform: "linux" has no operating system and architecture, such as linux/amd64`},
		},
	} {
		got := lines(t, f, c.build, c.platforms...)
		if name == "with assets" {
			c.want = append([]string{"asset README.md "}, c.want...)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

// What the user's environment says about builds has no part in it.
func TestReadsHeedsNoSettings(t *testing.T) {
	t.Parallel()
	f := open(t, makeTree(t, shop, nil), "GOFLAGS=-tags=extra -mod=vendor", "GOOS=windows", "GOWORK=/nowhere/go.work", "GO111MODULE=off")
	got := strings.Join(lines(t, f, catalogue.GoBuild{Package: "./services/worker"}), "\n")
	if strings.Contains(got, "extra") || strings.Contains(got, "windows") || strings.Contains(got, "problem") {
		t.Error(got)
	}
}

func TestReadsModules(t *testing.T) {
	t.Parallel()
	const main = "package main\n\nimport _ \"lib.example\"\n\nfunc main() {}\n"
	for name, c := range map[string]struct {
		tree  string
		links map[string]source.File
		build catalogue.GoBuild
		want  []string
	}{
		"a replaced module": {
			tree: "-- app/go.mod --\nmodule app.example\n\ngo 1.26.0\n\nrequire lib.example v0.0.0\n\nreplace lib.example => ../lib\n\nreplace other.example => ../other\n" +
				"-- app/main.go --\n" + main + "-- lib/go.mod --\nmodule lib.example\n\ngo 1.26.0\n-- lib/lib.go --\npackage lib\n-- other/go.mod --\nmodule other.example\n",
			build: catalogue.GoBuild{Package: "./app"},
			want: []string{"module app/go.mod ", "source app/main.go app.example", "module lib/go.mod ", "source lib/lib.go lib.example",
				"module other/go.mod "},
		},
		"a workspace": {
			tree: "-- go.work --\ngo 1.26.0\n\nuse (\n\t./app\n\t./lib\n)\n-- go.work.sum --\n-- app/go.mod --\nmodule app.example\n\ngo 1.26.0\n" +
				"-- app/main.go --\n" + main + "-- lib/go.mod --\nmodule lib.example\n\ngo 1.26.0\n-- lib/go.sum --\n-- lib/lib.go --\npackage lib\n",
			build: catalogue.GoBuild{Package: "./app"},
			want: []string{"module app/go.mod ", "source app/main.go app.example", "module go.work ", "module go.work.sum ", "module lib/go.mod ",
				"module lib/go.sum ", "source lib/lib.go lib.example"},
		},
		"a workspace that is switched off": {
			tree: "-- go.work --\ngo 1.26.0\n\nuse ./app\n-- app/go.mod --\nmodule app.example\n\ngo 1.26.0\n" +
				"-- app/main.go --\npackage main\n\nfunc main() {}\n",
			build: catalogue.GoBuild{Package: "./app", Env: map[string]string{"GOWORK": "off"}},
			want:  []string{"module app/go.mod ", "source app/main.go app.example"},
		},
		"a workspace of others": {
			tree: "-- go.work --\ngo 1.26.0\n\nuse ./lib\n-- app/go.mod --\nmodule app.example\n\ngo 1.26.0\n-- lib/go.mod --\nmodule lib.example\n" +
				"-- app/main.go --\npackage main\n\nfunc main() {}\n",
			build: catalogue.GoBuild{Package: "./app"},
			want:  []string{"module app/go.mod ", "source app/main.go app.example"},
		},
		"vendored modules": {
			tree: "-- go.mod --\nmodule app.example\n\ngo 1.26.0\n\nrequire lib.example v1.0.0\n-- main.go --\n" + main +
				"-- vendor/modules.txt --\n# lib.example v1.0.0\n## explicit\nlib.example\n-- vendor/lib.example/lib.go --\npackage lib\n-- vendor/lib.example/LICENSE --\n",
			build: catalogue.GoBuild{Package: "."},
			want:  []string{"module go.mod ", "source main.go app.example", "source vendor/lib.example/lib.go lib.example", "module vendor/modules.txt "},
		},
		"symbolic links": {
			tree: "-- go.mod --\nmodule app.example\n\ngo 1.26.0\n-- app/main.go --\npackage main\n\nimport _ \"app.example/here\"\n\nfunc main() {}\n" +
				"-- there/lib.go --\npackage here\n-- shared/common.go.txt --\npackage main\n",
			links: map[string]source.File{
				"here":          {Content: "there", Mode: source.ModeSymlink},
				"app/common.go": {Content: "../shared/common.go.txt", Mode: source.ModeSymlink},
				"out":           {Content: "../../etc", Mode: source.ModeSymlink},
				"absolute":      {Content: "/etc", Mode: source.ModeSymlink},
				"sub":           {Content: "0123456789012345678901234567890123456789", Mode: source.ModeSubmodule},
			},
			build: catalogue.GoBuild{Package: "./app"},
			want: []string{"link app/common.go app.example/app", "source app/main.go app.example/app", "module go.mod ",
				"link here app.example/here", "source shared/common.go.txt app.example/app", "source there/lib.go app.example/here"},
		},
		"what does not load": {
			tree: "-- go.mod --\nmodule app.example\n\ngo 1.26.0\n-- main.go --\npackage main\n\nimport _ \"app.example/gone\"\n\nfunc main() {}\n" +
				"-- embeds.go --\npackage main\n\nimport _ \"embed\"\n\n//go:embed gone.txt\nvar s string\n",
			build: catalogue.GoBuild{Package: "."},
			want: []string{"source embeds.go app.example", "module go.mod ", "source main.go app.example",
				"problem embeds.go:5:12: pattern gone.txt: no matching files found", "problem main.go:3:8: cannot find module providing package app.example/gone"},
		},
		"what does not parse": {
			tree:  "-- go.mod --\nmodule app.example\n\ngo 1.26.0\n-- main.go --\npackage main\n\nfunc main() {}\n-- broken.go --\npackage\n",
			build: catalogue.GoBuild{Package: "."},
			want:  []string{"source broken.go app.example", "module go.mod ", "source main.go app.example", "problem broken.go:1:9: expected 'IDENT', found"},
		},
		"no module": {
			tree:  "-- main.go --\npackage main\n",
			build: catalogue.GoBuild{Package: "."},
			want:  []string{"problem there is no go.mod in ., or above it up to the tree's root"},
		},
		"a module that is none": {
			tree:  "-- go.mod --\nnonsense\n-- main.go --\npackage main\n",
			build: catalogue.GoBuild{Package: "."},
			want:  []string{"problem go.mod:1: unknown directive: nonsense"},
		},
		"a module for a newer Go": {
			tree:  "-- go.mod --\nmodule app.example\n\ngo 1.999\n-- main.go --\npackage main\n\nfunc main() {}\n",
			build: catalogue.GoBuild{Package: "."},
			want:  []string{"module go.mod ", "problem go list: go: go.mod requires go >= 1.999"},
		},
		"modules outside of the tree": {
			tree:  "-- go.mod --\nmodule app.example\n\ngo 1.26.0\n\nrequire lib.example v0.0.0\n\nreplace lib.example => ../lib\n-- main.go --\n" + main,
			build: catalogue.GoBuild{Package: "."},
			want:  []string{"module go.mod ", "source main.go app.example", "problem main.go:3:8: lib.example@v0.0.0: replacement directory ../lib does not exist"},
		},
	} {
		f := open(t, makeTree(t, c.tree, c.links), "GOPROXY=off")
		got := lines(t, f, c.build)
		// The words of the go command are its own: their beginning will do.
		for i := range got {
			if i < len(c.want) && strings.HasPrefix(c.want[i], "problem") && strings.HasPrefix(got[i], c.want[i]) {
				got[i] = c.want[i]
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

// What an assembly file includes is in no list of the go command's.
func TestReadsFollowsWhatAssemblyIncludes(t *testing.T) {
	t.Parallel()
	f := open(t, makeTree(t, shop, map[string]source.File{
		"libs/log/sum_amd64.s": {Content: "#include \"textflag.h\"\n#include \"../inc/x.inc\"\n#include \"/etc/hosts\"\n"},
		"libs/log/sum_arm64.s": {Content: "#include \"../../../x.h\"\n"},
		"libs/inc/x.inc":       {Content: "#include \"../inc/link.h\"\n"},
		"libs/inc/link.h":      {Content: "y.h", Mode: source.ModeSymlink},
		"libs/inc/y.h":         {Content: "#include \"../../../y.h\"\n"},
	}))
	got := lines(t, f, catalogue.GoBuild{Package: "./services/worker"})
	want := []string{
		"module go.mod ", "module go.sum ", "source libs/inc/x.inc shop.example/libs/log", "source libs/inc/y.h shop.example/libs/log",
		"source libs/log/log.go shop.example/libs/log", "source libs/log/sum.h shop.example/libs/log", "source libs/log/sum_amd64.s shop.example/libs/log",
		"source services/worker/main.go shop.example/services/worker",
		"problem libs/inc/y.h:1: #include \"../../../y.h\" leads out of the tree",
		"problem libs/log/sum_amd64.s:3: #include \"/etc/hosts\" leads out of the tree",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}
