package catalogue

import (
	"strings"
	"testing"
)

// refusedImages are lists of images, which begin in line 4 of the file, and
// what is wrong with them.
var refusedImages = []struct{ name, in, want string }{
	{"empty", "- {}\n", "p:4:3: images[0].name: is missing\np:4:3: images[0].build: is missing\np:4:3: images[0].inputs: is missing"},
	{"name", "- {name: Api, build: {files: {}}, inputs: [a]}\n",
		`p:4:10: images[0].name: is "Api", and must be a part of a repository's name: lower-case letters and digits, with '.', '_' or '-' between them`},
	{"folder in the name", "- {name: a/b, build: {files: {}}, inputs: [a]}\n",
		`p:4:10: images[0].name: is "a/b", and must be a part of a repository's name: lower-case letters and digits, with '.', '_' or '-' between them`},
	{"long name", "- {name: " + strings.Repeat("a", 129) + ", build: {files: {}}, inputs: [a]}\n", "p:4:10: images[0].name: is longer than 128 characters"},
	{"same name", "- {name: a, build: {files: {}}, inputs: [a]}\n- {name: a, build: {files: {}}, inputs: [a]}\n",
		`p:5:10: images[1].name: is "a", and there is another image of that name`},
	{"no build", "- {name: a, build: {}, inputs: [a]}\n", "p:4:20: images[0].build: needs one of go, dockerfile, files"},
	{"two builds", "- {name: a, build: {go: {package: .}, files: {}}, inputs: [a]}\n",
		"p:4:20: images[0].build: has go and files, and must have exactly one of go, dockerfile, files"},
	{"unknown build", "- {name: a, build: {golang: {}}, inputs: [a]}\n",
		"p:4:20: images[0].build: needs one of go, dockerfile, files\np:4:21: images[0].build.golang: is not known; the fields are go, dockerfile, files"},
	{"no inputs", "- {name: a, build: {files: {}}, inputs: []}\n",
		"p:4:41: images[0].inputs: chooses no file: an image is built from what its inputs name and from nothing else"},
	{"only exclusions", "- {name: a, build: {files: {}}, inputs: ['!a', '!b']}\n",
		"p:4:41: images[0].inputs: chooses no file: an image is built from what its inputs name and from nothing else"},
	{"unquoted exclusion", "- {name: a, build: {files: {}}, inputs: [a, !b ]}\n",
		"p:4:45: images[0].inputs[1]: has a tag, and tags are not supported: put the value in quotes if it is meant to begin with !"},
	{"unquoted exclusion at the end", "- {name: a, build: {files: {}}, inputs: [a, !b]}\n",
		"p:4: did not find expected whitespace or line break; put a value that begins with ! in quotes"},
	{"no platforms", "- {name: a, build: {files: {}}, inputs: [a], platforms: []}\n",
		"p:4:57: images[0].platforms: is empty: name a platform, or leave it out for linux/amd64"},
	{"platform", "- {name: a, build: {files: {}}, inputs: [a], platforms: [linux/x86_64, linux/s390x, linux/s390x]}\n", "" +
		"p:4:58: images[0].platforms[0]: must be written linux/amd64\n" +
		"p:4:85: images[0].platforms[2]: is listed twice"},
	{"no package", "- {name: a, build: {go: {}}, inputs: [a]}\n", "p:4:25: images[0].build.go.package: is missing"},
	{"import path", "- {name: a, build: {go: {package: cmd/a}}, inputs: [a]}\n",
		`p:4:35: images[0].build.go.package: is "cmd/a", and must be a folder that begins with ./: write "./cmd/a"`},
	{"package outside", "- {name: a, build: {go: {package: ./a/../../b}}, inputs: [a]}\n",
		`p:4:35: images[0].build.go.package: is "./a/../../b", which leaves the tree: an image is built from this tree only`},
	{"absolute package", "- {name: a, build: {go: {package: /a}}, inputs: [a]}\n",
		`p:4:35: images[0].build.go.package: is "/a": a path is relative to the root of the tree, so leave the leading / out`},
	{"many packages", "- {name: a, build: {go: {package: ./...}}, inputs: [a]}\n",
		`p:4:35: images[0].build.go.package: is "./...", and must be the folder of one main package`},
	{"toolchain", "- {name: a, build: {go: {package: ., toolchain: \"1.26\"}}, inputs: [a]}\n",
		`p:4:49: images[0].build.go.toolchain: is "1.26", and must be the full name of a Go release, such as go1.26.8`},
	{"base by nothing", "- {name: a, build: {go: {package: ., base: A B}}, inputs: [a]}\n",
		`p:4:44: images[0].build.go.base: is "A B", and must be "scratch", the name of an image of this file, or a reference such as registry.example.com/base:1`},
	{"tag", "- {name: a, build: {go: {package: ., tags: ['a,b', a, a]}}, inputs: [a]}\n", "" +
		`p:4:45: images[0].build.go.tags[0]: is "a,b", and a build tag has letters, digits, '_' and '.' only; write each as an item of its own` + "\n" +
		"p:4:55: images[0].build.go.tags[2]: is listed twice"},
	{"env", "- name: a\n  inputs: [a]\n  build:\n    go:\n      package: .\n      env:\n        GOOS: linux\n        GOFLAGS: -mod=mod\n        GOPROXY: direct\n        GOPRIVATE: x\n" +
		"        NPM_TOKEN: hunter2\n        HOME: /root\n        A-B: x\n        C: \"x\\ny\"\n        CGO_ENABLED: 0\n        GOWORK: /go.work\n", "" +
		"p:10:15: images[0].build.go.env.GOOS: may not be set: it follows from platforms\n" +
		"p:11:18: images[0].build.go.env.GOFLAGS: may not be set: it would change the build in ways that nothing shows: use the fields ldflags and tags\n" +
		"p:12:18: images[0].build.go.env.GOPROXY: may not be set: where modules, caches and tools are found is the machine's own configuration and must not reach the image\n" +
		"p:13:20: images[0].build.go.env.GOPRIVATE: may not be set: where modules, caches and tools are found is the machine's own configuration and must not reach the image\n" +
		"p:14:20: images[0].build.go.env.NPM_TOKEN: looks like a secret, and this file, fingerprints and receipts are no place for one\n" +
		"p:15:15: images[0].build.go.env.HOME: may not be set: it is a folder of the machine, and the image would depend on it\n" +
		"p:16:14: images[0].build.go.env.A-B: is no name of an environment variable\n" +
		`p:17:12: images[0].build.go.env.C: is "x\ny", which has a line break` + "\n" +
		"p:18:22: images[0].build.go.env.CGO_ENABLED: must be a string, not the number 0: put it in quotes\n" +
		`p:19:17: images[0].build.go.env.GOWORK: is "/go.work", and can only be "off": otherwise it follows from the tree, where a go.work counts if it is among the inputs`},
	{"ldflags", "- {name: a, build: {go: {package: ., ldflags: [-s, -linkmode=external, '@/etc/x', -X]}}, inputs: [a]}\n", "" +
		`p:4:47: images[0].build.go.ldflags: ends with -X, which needs a value` + "\n" +
		`p:4:52: images[0].build.go.ldflags[1]: is "-linkmode=external": -linkmode can only be internal: another linker would be whichever the machine has` + "\n" +
		`p:4:72: images[0].build.go.ldflags[2]: is "@/etc/x", which the linker replaces with what a file of the machine holds`},
	{"ldflags that name files", "- {name: a, build: {go: {package: ., ldflags: [-cpuprofile=/tmp/x]}}, inputs: [a]}\n",
		`p:4:48: images[0].build.go.ldflags[0]: is "-cpuprofile=/tmp/x", which is not accepted, since flags of the linker can name files and programs of the machine; those that do not are -s, -w, -X, -B, -E, -T, -D, -R, -buildid, -compressdwarf, -bindnow, -aslr, -d, -checklinkname, -pruneweakmap, -funcalign, -randlayout and -linkmode=internal`},
	{"cgo", "- {name: a, build: {go: {package: ., env: {CGO_ENABLED: '1', CC: gcc, CGO_CFLAGS: -O1, GO_EXTLINK_ENABLED: '1', OTHER: x}}}, inputs: [a]}\n", "" +
		"p:4:57: images[0].build.go.env.CGO_ENABLED: is \"1\", and can only be \"0\": " + adviceCgo + "\n" +
		"p:4:66: images[0].build.go.env.CC: may not be set: programs are built without cgo; with it " + adviceCgo + "\n" +
		"p:4:83: images[0].build.go.env.CGO_CFLAGS: may not be set: programs are built without cgo; with it " + adviceCgo + "\n" +
		"p:4:108: images[0].build.go.env.GO_EXTLINK_ENABLED: may not be set: programs are built without cgo; with it " + adviceCgo + "\n" +
		"p:4:120: images[0].build.go.env.OTHER: may not be set: it has no say in what the Go command makes; those that have are CGO_ENABLED, GO386, GOARM64, GOEXPERIMENT, GOFIPS140, GOMIPS, GOMIPS64, GOPPC64, GORISCV64, GOWORK"},
	{"cgo by default", "- {name: a, build: {go: {package: ., env: {CGO_ENABLED: ''}}}, inputs: [a]}\n",
		"p:4:57: images[0].build.go.env.CGO_ENABLED: is \"\", and can only be \"0\": " + adviceCgo},
	{"dockerfile", "- {name: a, build: {dockerfile: {path: ../Dockerfile, target: 'a b', args: {1a: x, API_KEY: y}, secrets: ['a,b']}}, inputs: [a]}\n", "" +
		`p:4:40: images[0].build.dockerfile.path: is "../Dockerfile", which leaves the tree: an image is built from this tree only` + "\n" +
		`p:4:63: images[0].build.dockerfile.target: is "a b", and must be the name or number of a stage` + "\n" +
		"p:4:81: images[0].build.dockerfile.args.1a: is no name of a build argument\n" +
		"p:4:93: images[0].build.dockerfile.args.API_KEY: looks like a secret, and arguments stand in the image's history and in receipts: mount it, and name its id in secrets\n" +
		`p:4:107: images[0].build.dockerfile.secrets[0]: is "a,b", and must be an id: letters, digits, '_', '.' and '-'`},
	{"files", "- {name: a, build: {files: {from: 'a\\b', root: srv, mediaType: tar}}, inputs: [a]}\n", "" +
		`p:4:35: images[0].build.files.from: is "a\\b": the segments of a path are separated by /` + "\n" +
		`p:4:48: images[0].build.files.root: is "srv", and must be an absolute path in the image, such as /srv` + "\n" +
		`p:4:64: images[0].build.files.mediaType: is "tar", and must be a media type without parameters, such as application/vnd.oci.image.layer.v1.tar+gzip`},
}

func TestParseRefusesImages(t *testing.T) {
	t.Parallel()
	for _, tt := range refusedImages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkProblems(t, header+"images:\n"+tt.in, tt.want)
		})
	}
}

// TestParseKeepsSecretsOut checks that no error repeats what may be a secret.
func TestParseKeepsSecretsOut(t *testing.T) {
	t.Parallel()
	for _, tt := range refusedImages {
		if !strings.Contains(tt.in, "hunter2") {
			continue
		}
		if _, err := Parse("p", []byte(header+"images:\n"+tt.in)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestParsePlacesPatterns checks that what is wrong with a pattern is said
// where the pattern stands.
func TestParsePlacesPatterns(t *testing.T) {
	t.Parallel()
	_, err := ParsePatterns([]string{"ok", "/a", "/b"})
	problems := patternErrors(err)
	if len(problems) != 2 {
		t.Fatalf("%d problems: %v", len(problems), err)
	}
	first, second := problems[0].Reason, problems[1].Reason
	checkProblems(t, header+"delivery:\n- ok\n- /a\n- ''\n- /b\nneutral: [/a]\n", ""+
		"p:5:3: delivery[1]: \"/a\": "+first+"\n"+
		"p:6:3: delivery[2]: is empty\n"+
		"p:7:3: delivery[3]: \"/b\": "+second+"\n"+
		"p:8:11: neutral[0]: \"/a\": "+first)
}
