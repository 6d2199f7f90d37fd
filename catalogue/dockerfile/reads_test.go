package dockerfile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// reads is what the last stage of a Dockerfile reads.
func reads(t testing.TB, content string, tree source.Tree) *Reads {
	t.Helper()
	r, err := planned(t, content, Options{Platform: "linux/amd64"}).Reads(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadsFiles(t *testing.T) {
	t.Parallel()
	paths := []string{"Dockerfile", "github.com/a.go", "ftp:/a.go", "a.go", "b.md", "cmd/main.go", "cmd/sub/x.go", "cmd/sub/y.md", "docs/a.md", "docs/z/b.md", "e[1].txt", ".hidden"}
	links := map[string]string{"to-cmd": "-> cmd", "docs/up": "-> ../a.go", "out": "-> ../../../b.md", "abs": "-> /docs/z/", "chain": "-> to-cmd/sub"}
	all := append(slices.Clone(paths), "to-cmd", "docs/up", "out", "abs", "chain")
	without := func(not ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(not, p) })
	}
	for _, tc := range []struct {
		instruction string
		want        []string // besides the Dockerfile
	}{
		{"COPY . /", all},
		{"COPY / /", all},
		{"COPY ../.. /", all},
		{`COPY ["", "/"]`, all},
		{"COPY a.go b.md /", []string{"a.go", "b.md"}},
		{"COPY /a.go ./b.md ../cmd/../b.md /", []string{"a.go", "b.md"}},
		{"COPY cmd /", []string{"cmd/main.go", "cmd/sub/x.go", "cmd/sub/y.md"}},
		{"COPY cmd/sub/ /", []string{"cmd/sub/x.go", "cmd/sub/y.md"}},
		{"ADD cmd/. /", []string{"cmd/main.go", "cmd/sub/x.go", "cmd/sub/y.md"}},
		{"COPY *.go /", []string{"a.go"}},
		{"COPY * /", all},
		{"COPY ?.* /", []string{"a.go", "b.md"}},
		{"COPY [^a].md /", []string{"b.md"}},
		{"COPY cmd/*/*.go /", []string{"cmd/sub/x.go"}},
		{"COPY cmd/** /", []string{"cmd/main.go", "cmd/sub/x.go", "cmd/sub/y.md"}}, // ** is no more than *
		{"COPY c* /", []string{"cmd/main.go", "cmd/sub/x.go", "cmd/sub/y.md", "chain", "to-cmd"}},
		{"COPY e[[]1].txt /", []string{"e[1].txt"}},
		{"COPY to-cmd /", []string{"cmd/main.go", "cmd/sub/x.go", "cmd/sub/y.md", "to-cmd"}},
		{"COPY to-cmd/main.go /", []string{"cmd/main.go", "to-cmd"}},
		{"COPY to-cmd/s*/x.go /", []string{"cmd/sub/x.go", "to-cmd"}},
		{"COPY chain /", []string{"cmd/sub/x.go", "cmd/sub/y.md", "to-cmd", "chain"}},
		{"COPY docs/up /", []string{"a.go", "docs/up"}},
		{"COPY docs /", []string{"docs/a.md", "docs/up", "docs/z/b.md"}}, // a link in a folder stays one
		{"COPY out /", []string{"b.md", "out"}},
		{"COPY abs /", []string{"docs/z/b.md", "abs"}},
		{"COPY --exclude=*.md . /", without("b.md")},
		{"COPY --exclude=**/*.md . /", without("b.md", "cmd/sub/y.md", "docs/a.md", "docs/z/b.md")},
		{"COPY --exclude=docs --exclude=!docs/z . /", without("docs/a.md", "docs/up")},
		{"COPY --exclude=sub cmd /", []string{"cmd/main.go"}},
		{"COPY --exclude=*.go a.go /", []string{"a.go"}}, // what is named itself is taken
		{"COPY --parents **/*.go /", []string{"a.go", "cmd/main.go", "cmd/sub/x.go", "ftp:/a.go", "github.com/a.go"}},
		{"COPY --parents cmd/./**/*.go /", []string{"cmd/main.go", "cmd/sub/x.go"}},
		{"COPY --parents cmd/sub /", []string{"cmd/sub/x.go", "cmd/sub/y.md"}},
		{"COPY --parents --exclude=**/sub **/*.go /", []string{"a.go", "cmd/main.go", "ftp:/a.go", "github.com/a.go"}},
		{"COPY --parents to-cmd/./sub/x.go /", []string{"to-cmd", "cmd/sub/x.go"}},
		{"COPY --from=a /x /y", nil},
		{"COPY <<EOF <<EOT /x/\na.go\nEOF\nb.md\nEOT", nil},
		{"ADD https://example.org/a.go git@example.org:a.git /x/", nil},
		{"ADD github.com/a.go ftp://a.go a.go /x/", []string{"a.go", "ftp:/a.go", "github.com/a.go"}},
		{"RUN --mount=type=bind,source=cmd,target=/x true", []string{"cmd/main.go", "cmd/sub/x.go", "cmd/sub/y.md"}},
		{"RUN --mount=target=/x true", all},
		{"RUN --mount=src=docs/up,target=/x true", []string{"a.go", "docs/up"}},
		{"RUN --mount=type=cache,source=cmd,target=/x true", nil},
		{"RUN --mount=type=tmpfs,target=/x --mount=type=secret,id=a.go true", nil},
		{"RUN --mount=type=bind,from=b,source=cmd,target=/x true", nil},
		{"RUN cat a.go", nil},
		{"ONBUILD COPY . /", nil},
		{"ARG D=cmd\nENV E=${D}/sub F=$D\nCOPY $E/x.go ${F:+b.md} /", []string{"cmd/sub/x.go", "b.md"}},
		{"ARG TARGETARCH\nCOPY ${TARGETARCH#amd64}b.md /", []string{"b.md"}},
		{"ONBUILD ARG D=cmd\nONBUILD COPY $D/main.go /\nFROM s\nCOPY a.go /", []string{"a.go", "cmd/main.go"}},
		{"ARG D=cmd\nFROM s\nCOPY $D/main.go /", []string{"cmd/main.go"}}, // as in BuildKit, arguments are inherited
	} {
		t.Run(tc.instruction, func(t *testing.T) {
			t.Parallel()
			tree := tree(t, links, paths...)
			r := reads(t, "FROM scratch AS s\n"+tc.instruction+"\n", tree)
			want := append([]string{"Dockerfile"}, tc.want...)
			slices.Sort(want)
			if diff := cmp.Diff(slices.Compact(want), r.Files); diff != "" {
				t.Error(diff)
			}
			if len(r.Missing)+len(r.Unknown) > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestReadsMissing(t *testing.T) {
	t.Parallel()
	const content = `FROM scratch
COPY a.go nope.go /
COPY *.zip cmd/*.zip docs/*.zip /
COPY dangling loop /
COPY ig* /
COPY --parents cmd/nope docs/./**/*.zip . /
RUN --mount=source=nope,target=/x --mount=source=*.go,target=/y true
COPY [a- cmd/main.go/ a.go/x /
`
	r := reads(t, content, tree(t, map[string]string{
		".dockerignore": "ignored\n", "dangling": "-> ignored/x", "loop": "-> ./loop",
	}, "a.go", "cmd/main.go", "ignored/x", "docs/a.md"))
	const kept = "is kept out of the build context by .dockerignore"
	want := []Source{
		{Line: 2, Path: "nope.go", Reason: nothing},
		{Line: 3, Path: "*.zip", Reason: noMatch, Optional: true},
		{Line: 3, Path: "cmd/*.zip", Reason: noMatch, Optional: true},
		{Line: 3, Path: "docs/*.zip", Reason: noMatch}, // nothing else of docs is sent, not even the folder
		{Line: 4, Path: "dangling", Reason: kept, Ignored: ".dockerignore"},
		{Line: 4, Path: "loop", Reason: nothing},
		{Line: 5, Path: "ig*", Reason: kept, Optional: true, Ignored: ".dockerignore"},
		{Line: 6, Path: "cmd/nope", Reason: noMatch},
		{Line: 6, Path: "docs/./**/*.zip", Reason: noMatch},
		{Line: 6, Path: ".", Reason: noMatch},
		{Line: 7, Path: "nope", Reason: nothing},
		{Line: 7, Path: "*.go", Reason: nothing},
		{Line: 8, Path: "[a-", Reason: "is no valid pattern"},
		{Line: 8, Path: "a.go/x", Reason: nothing},
	}
	if diff := cmp.Diff(want, r.Missing); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{".dockerignore", "Dockerfile", "a.go", "cmd/main.go"}, r.Files); diff != "" {
		t.Error(diff)
	}
}

func TestReadsUnknown(t *testing.T) {
	t.Parallel()
	const content = `FROM img AS one
ENV DIR=$HOME/x PLAIN=a.go
COPY $DIR $PLAIN ${OTHER:-b} /
FROM one
ARG BUILDARCH
COPY bin-${BUILDARCH} ${DIR:?} /
RUN --mount=source=$DIR/y,target=$DIR --mount=target=$HOME true
RUN --mount=uid=$UID,type=cache,target=/x true
ARG NEW=$BUILDARCH
ADD $NEW https://example.org/$HOME /
ADD --checksum=$SUM https://example.org/x /
`
	f := parsed(t, "Dockerfile", content)
	p, err := f.Plan(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Reads(t.Context(), tree(t, nil, "Dockerfile", "a.go", "z"))
	if err != nil {
		t.Fatal(err)
	}
	base := func(name string) string { return "depends on " + name + ", which the base image img may set" }
	want := []Source{
		{Line: 3, Path: "$DIR", Reason: base("HOME")},
		{Line: 3, Path: "${OTHER:-b}", Reason: base("OTHER")},
		{Line: 6, Path: "bin-${BUILDARCH}", Reason: "uses BUILDARCH, which depends on the machine that builds"},
		{Line: 6, Path: "${DIR:?}", Reason: base("HOME")},
		{Line: 7, Path: "$DIR/y", Reason: base("HOME")},
		{Line: 8, Path: "$UID", Reason: base("UID")},
		{Line: 10, Path: "$NEW", Reason: "uses BUILDARCH, which depends on the machine that builds"},
		{Line: 10, Path: "https://example.org/$HOME", Reason: base("HOME")},
	}
	if diff := cmp.Diff(want, r.Unknown); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Dockerfile", "a.go", "z"}, r.Files); diff != "" { // a mount takes everything
		t.Error(diff)
	}
	if want := []Source{{Line: 11, Path: "https://example.org/x", Reason: "its checksum " + base("SUM")}}; !cmp.Equal(want, p.Remote) {
		t.Errorf("%+v", p.Remote)
	}
}

func TestReadsSamples(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		target  string
		files   map[string]string
		paths   []string
		want    []string
		missing []Source
		unknown []Source
	}{
		{
			name:  "go.Dockerfile",
			files: map[string]string{".dockerignore": "**/*_test.go\nservices/*/README.md\n", "libs/link.go": "-> log/log.go"},
			paths: []string{
				"go.mod", "go.sum", "go.work", "libs/log/log.go", "libs/log/log_test.go", "libs/log/log.md", "libs/x.go",
				"services/api/main.go", "services/api/main_test.go", "services/api/README.md", "services/web/main.go", "tools/version.sh",
			},
			want: []string{
				".dockerignore", "go.Dockerfile", "go.mod", "go.sum", "libs/link.go", "libs/log/log.go", "libs/x.go", "services/api/main.go", "tools/version.sh",
			},
		},
		{
			name:    "go.Dockerfile",
			target:  "certs",
			paths:   []string{"go.mod", "go.Dockerfile"},
			want:    []string{"go.Dockerfile"},
			missing: nil,
		},
		{
			name: "node.Dockerfile",
			files: map[string]string{
				".dockerignore":                "*\n",
				"node.Dockerfile.dockerignore": "# only what the site is made of\n*\n!web\nweb/node_modules\n!web/node_modules/.keep\nnode.Dockerfile\n",
			},
			paths: []string{
				"README.md", "web/package.json", "web/package-lock.json", "web/src/a.ts", "web/src/a.test.ts", "web/stories/a.ts",
				"web/node_modules/x/index.js", "web/node_modules/.keep", "web/nginx conf/site.conf", "extra/x",
			},
			want: []string{
				"node.Dockerfile", "node.Dockerfile.dockerignore", "web/nginx conf/site.conf", "web/node_modules/.keep",
				"web/package-lock.json", "web/package.json", "web/src/a.ts", "web/stories/a.ts",
			},
		},
		{
			name:  "python.Dockerfile",
			paths: []string{"python.Dockerfile", "requirements.txt", "worker/main.py", "worker/x/y.py", "jobs/clean.py", "jobs/zip.py", "worker/data/a"},
			want:  []string{"jobs/clean.py", "python.Dockerfile", "requirements.txt", "worker/main.py"},
			missing: []Source{
				{Line: 7, Path: "pyproject.toml", Reason: nothing},
				{Line: 14, Path: "vendor.tar.gz", Reason: nothing},
			},
			unknown: []Source{{Line: 13, Path: "$APP/data$DATA_SUFFIX", Reason: "depends on DATA_SUFFIX, which the base image python:3.14-slim may set"}},
		},
	} {
		p, err := sample(t, tc.name).Plan(Options{Target: tc.target, Platform: "linux/amd64"})
		if err != nil {
			t.Error(err)
			continue
		}
		r, err := p.Reads(t.Context(), tree(t, tc.files, tc.paths...))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(&Reads{Files: tc.want, Missing: tc.missing, Unknown: tc.unknown}, r); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestIgnoreFile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"none", nil, []string{"a", "b/c"}},
		{"of the root", map[string]string{".dockerignore": "b"}, []string{".dockerignore", "a"}},
		{"its own", map[string]string{".dockerignore": "b", "web/Dockerfile.dockerignore": "a"}, []string{"b/c", ".dockerignore", "web/Dockerfile.dockerignore"}},
		{"its own, which is empty", map[string]string{".dockerignore": "b", "web/Dockerfile.dockerignore": ""}, []string{"a", "b/c", ".dockerignore", "web/Dockerfile.dockerignore"}},
		{"a link", map[string]string{".dockerignore": "-> web/ignore", "web/ignore": "web\nb"}, []string{".dockerignore", "a", "web/ignore"}},
		{"a link to nothing", map[string]string{".dockerignore": "-> nope"}, []string{".dockerignore", "a", "b/c"}},
		{"a folder", map[string]string{".dockerignore/x": "b"}, []string{".dockerignore/x", "a", "b/c"}},
		{"BOM, comments and blanks", map[string]string{".dockerignore": "\xef\xbb\xbfb \r\n\n#a\n  \n"}, []string{".dockerignore", "a"}},
		{"everything", map[string]string{".dockerignore": "**"}, []string{".dockerignore"}},
		{"all but one", map[string]string{".dockerignore": "*\n!b/c"}, []string{".dockerignore", "b/c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := parsed(t, "web/Dockerfile", "FROM scratch\nCOPY . /\n")
			p, err := f.Plan(Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Reads(t.Context(), tree(t, tc.files, "a", "b/c", "web/Dockerfile"))
			if err != nil {
				t.Fatal(err)
			}
			want := append([]string{"web/Dockerfile"}, tc.want...)
			slices.Sort(want)
			if diff := cmp.Diff(want, r.Files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadsErrors(t *testing.T) {
	t.Parallel()
	p := planned(t, "FROM scratch\nCOPY . /\n", Options{})
	for _, tc := range []struct {
		name, ignore string
		want         string
	}{
		{"bad pattern", "a\n# b\n[c\n", ".dockerignore:3: is no valid pattern: syntax error in pattern"},
		{"bad class", "a\n!x[z-a]\n", ".dockerignore:2: is no valid pattern: syntax error in pattern"},
		{"lone !", "!\n", `.dockerignore:1: is no valid pattern: illegal exclusion pattern: "!"`},
		{"long line", strings.Repeat("x", 1<<17), ".dockerignore: bufio.Scanner: token too long"},
		{"many", strings.Repeat("x\n", maxPatterns+1), ".dockerignore: has 10001 patterns, at most 10000 are read"},
	} {
		_, err := p.Reads(t.Context(), tree(t, map[string]string{".dockerignore": tc.ignore}, "Dockerfile"))
		var parse *ParseError
		if !errors.As(err, &parse) || err.Error() != tc.want {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Reads(ctx, tree(t, nil, "Dockerfile")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	broken := tree(t, nil, "Dockerfile", "a/b")
	broken.Objects = source.NewMemory()
	if _, err := p.Reads(t.Context(), broken); !errors.Is(err, source.ErrNotFound) {
		t.Error(err)
	}
}
