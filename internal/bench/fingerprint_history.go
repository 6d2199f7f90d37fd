package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
)

// history writes the commits of a repository for git fast-import, always the
// same ones for the same size. The first commit has all files, and each later
// one edits a few, so that the last tree has the same shape however long the
// history is.
type history struct {
	size    repoSize
	rand    *rand.Rand
	paths   []string
	version []int // of each file
	commits int   // written so far
}

const (
	teams       = 20
	filesPerLib = 60
	libsPerUser = 6 // that an image is built with
)

func newHistory(s repoSize) *history {
	h := &history{size: s, rand: rand.New(rand.NewPCG(1, 2))}
	services := s.files * 6 / 10
	for i := range services {
		h.paths = append(h.paths, servicePath(i%s.images, i/s.images))
	}
	libs := s.files * 2 / 10
	for i := range libs {
		h.paths = append(h.paths, libPath(i/filesPerLib, i%filesPerLib))
	}
	for i := range s.files - services - libs {
		h.paths = append(h.paths, otherPath(i))
	}
	h.version = make([]int, len(h.paths))
	return h
}

func serviceDir(service int) string {
	return fmt.Sprintf("services/team%02d/svc%03d", service%teams, service)
}

func servicePath(service, i int) string {
	if i == 0 {
		return serviceDir(service) + "/cmd/main.go"
	}
	folders := []string{"cmd", "internal/handler", "internal/store", "internal/model/v1", "internal/config", "api/v1", "deploy", "internal/store/testdata"}
	suffixes := []string{".go", ".go", "_test.go", ".go", "_test.go", ".go", ".md", ".yaml"}
	return fmt.Sprintf("%s/%s/%s%02d%s", serviceDir(service), folders[i%len(folders)], words[i%len(words)], i, suffixes[i/len(folders)%len(suffixes)])
}

func libPath(lib, i int) string {
	folders := []string{"", "internal/", "internal/wire/", "testdata/", "v2/"}
	suffixes := []string{".go", ".go", "_test.go"}
	return fmt.Sprintf("libs/lib%03d/%s%s%02d%s", lib, folders[i%len(folders)], words[i%len(words)], i, suffixes[i/len(folders)%len(suffixes)])
}

// otherPath is of a file that is in no image: a web application, delivery, docs.
func otherPath(i int) string {
	word := words[i%len(words)]
	switch i % 4 {
	case 0:
		return fmt.Sprintf("gitops/overlays/cell%03d/%s%d.yaml", i/80, word, i)
	case 1:
		return fmt.Sprintf("docs/%s/part%02d/page%d.md", word, i/100, i)
	default:
		return fmt.Sprintf("web/app%02d/src/components/%s%02d/part%d.ts", i/500, word, i/40, i)
	}
}

var words = strings.Fields("account basket catalog delivery engine feature gateway handler index journal keeper ledger mapper notifier order parser queue router session token")

// importTo imports commits until there are that many.
func (h *history) importTo(ctx context.Context, dir string, commits int) error {
	if h.commits >= commits {
		return nil
	}
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsync=none", "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--done", "--depth=5")
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	w := bufio.NewWriterSize(stdin, 1<<20)
	from := "" // what git has of the branch: it only needs to be told in a new import
	if h.commits > 0 {
		from = "from refs/heads/main^0\n"
	}
	for ; h.commits < commits; from = "" {
		h.commit(w, from)
	}
	fmt.Fprintln(w, "done")
	writeErr := w.Flush()
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git fast-import: %w\n%s", err, stderr.String())
	}
	return writeErr
}

func (h *history) commit(w io.Writer, from string) {
	message := fmt.Sprintf("Edit %s, round %d\n", words[h.commits%len(words)], h.commits)
	fmt.Fprintf(w, "commit refs/heads/main\ncommitter Ada <ada@example.com> %d +0000\ndata %d\n%s%s", 1_600_000_000+60*h.commits, len(message), message, from)
	if h.commits == 0 {
		for i := range h.paths {
			h.file(w, i)
		}
		inline(w, "go.mod", "module example.com/large\n\ngo 1.26.0\n\ntoolchain go1.26.8\n")
		inline(w, "go.sum", "")
		inline(w, "pharos.yaml", h.catalogue())
	} else {
		for range 1 + h.rand.IntN(2) {
			// Some files are edited far more often than others.
			i := int(h.rand.Float64() * h.rand.Float64() * float64(len(h.paths)))
			h.version[i]++
			h.file(w, i)
		}
	}
	h.commits++
}

func inline(w io.Writer, path, content string) {
	fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

// file writes a file of some hundred bytes, of which a version changes one line.
func (h *history) file(w io.Writer, i int) {
	var b strings.Builder
	lines := 8 + i%40
	for line := range lines {
		version := 0
		if h.version[i]%lines == line {
			version = h.version[i]
		}
		fmt.Fprintf(&b, "%s %s %d %d\n", words[(i+line)%len(words)], words[(i*line)%len(words)], i*line, version)
	}
	inline(w, h.paths[i], b.String())
}

// catalogue is the pharos.yaml: every image is a service with some libraries.
func (h *history) catalogue() string {
	var b strings.Builder
	b.WriteString("apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n")
	libs := max(1, h.size.files*2/10/filesPerLib)
	for i := range h.size.images {
		fmt.Fprintf(&b, "- name: svc%03d\n  build: {go: {package: ./%s/cmd}}\n  inputs: [go.mod, go.sum, %s", i, serviceDir(i), serviceDir(i))
		for _, lib := range h.rand.Perm(libs)[:min(libs, libsPerUser)] {
			fmt.Fprintf(&b, ", libs/lib%03d", lib)
		}
		b.WriteString(", \"!**/*_test.go\", \"!**/testdata/**\"]\n")
	}
	b.WriteString("delivery: [gitops/**, pharos.yaml]\nneutral: [docs/**, \"**/*.md\"]\n")
	return b.String()
}
