package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
)

// pointer is a file as Git LFS stores it.
func pointer(path string) file {
	return file{path: path, content: "version https://git-lfs.github.com/spec/v1\noid " + digestOf("1") + "\nsize 12345\n"}
}

func lfsPaths(t *testing.T, err error) []string {
	t.Helper()
	var paths []string
	for _, err := range joined.Errors(err) {
		if e, ok := errors.AsType[*LFSError](err); ok {
			paths = append(paths, e.Path)
		} else if err != nil {
			t.Errorf("got %v", err)
		}
	}
	return paths
}

func TestPruneRefusesLFSPointers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attributes map[string]string // by directory with its slash
		inputs     string
		want       string
	}{
		"none":             {nil, "**", ""},
		"a name":           {map[string]string{"": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}, "**", "[!*]/z.bin a/b/y.bin a/x.bin x.bin"},
		"not chosen":       {map[string]string{"": "*.bin filter=lfs\n"}, "a/b !a/b/y.bin", ""},
		"chosen in part":   {map[string]string{"": "*.bin filter=lfs\n"}, "a !a/b", "a/x.bin"},
		"rooted":           {map[string]string{"": "/*.bin filter=lfs\n"}, "**", "x.bin"},
		"a path":           {map[string]string{"": "# none\n\n  a/*.bin\ttext filter=lfs\r\n"}, "**", "a/x.bin"},
		"in a directory":   {map[string]string{"a/": "*.bin filter=lfs\n"}, "**", "a/b/y.bin a/x.bin"},
		"there, rooted":    {map[string]string{"a/": "/x.bin filter=lfs\n"}, "**", "a/x.bin"},
		"above the inputs": {map[string]string{"a/": "b/** filter=lfs\n"}, "a/b", "a/b/y.bin"},
		"all below":        {map[string]string{"": "a/** filter=lfs\n"}, "**", "a/b/y.bin a/x.bin"},
		"stars":            {map[string]string{"": "**.bin filter=lfs\n"}, "**", "[!*]/z.bin a/b/y.bin a/x.bin x.bin"},
		"in quotes":        {map[string]string{"": "\"x\\056bin\" filter=lfs\n"}, "**", "x.bin a/x.bin"},
		"a macro":          {map[string]string{"": "[attr]large filter=lfs -text\n*.bin large\n"}, "**", "[!*]/z.bin a/b/y.bin a/x.bin x.bin"},
		"the usual macro":  {map[string]string{"a/": "*.bin lfs\n"}, "**", "a/b/y.bin a/x.bin"},
		"classes of git":   {map[string]string{"": "[[:alpha:]].bin filter=lfs\n"}, "**", "[!*]/z.bin a/b/y.bin a/x.bin x.bin"},
		"a directory":      {map[string]string{"": "a/ filter=lfs\n"}, "**", ""},
		"another filter":   {map[string]string{"": "*.bin filter=x -lfs !lfs\n"}, "**", ""},
		"odd directory":    {map[string]string{"[!*]/": "*.bin filter=lfs\n"}, "**", "[!*]/z.bin"},
		"very large":       {map[string]string{"": strings.Repeat("#\n", maxAttributes)}, "**", "[!*]/z.bin a/b/y.bin a/x.bin x.bin"},
		"very many":        {map[string]string{"": strings.Repeat("*.no filter=lfs\n", 2*maxLFSLines)}, "**", "[!*]/z.bin a/b/y.bin a/x.bin x.bin"},
	} {
		files := []file{
			pointer("x.bin"), pointer("a/x.bin"), pointer("a/b/y.bin"), pointer("[!*]/z.bin"),
			{path: "a/b/text.bin", content: "version https://git-lfs.github.com/spec/v2\n"}, {path: "a/empty.bin"}, {path: "large.bin", content: pointer("").content + strings.Repeat("x", lfsSize)},
			link("a/link.bin", "empty.bin"),
		}
		for dir, content := range c.attributes {
			files = append(files, file{path: dir + attributesFile, content: content})
		}
		_, _, err := Prune(t.Context(), makeTree(t, files...), mustPatterns(t, strings.Fields(c.inputs)...))
		want := strings.Fields(c.want)
		slices.Sort(want)
		got := lfsPaths(t, err)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Git LFS takes pointers in other forms than it writes.
func TestPruneRefusesLFSPointersInEveryForm(t *testing.T) {
	t.Parallel()
	now := pointer("").content
	for name, c := range map[string]struct {
		content string
		pointer bool
	}{
		"as it is written": {now, true},
		"of hawser":        {strings.Replace(now, "git-lfs", "hawser", 1), true},
		"of git-media":     {strings.Replace(now, "https://git-lfs.github.com/spec/v1", "http://git-media.io/v/2", 1), true},
		"after a line":     {"\n" + now, true},
		"lines of Windows": {strings.ReplaceAll(now, "\n", "\r\n"), true},
		"nothing":          {"", false},
		"another version":  {strings.Replace(now, "v1", "v2", 1), false},
		"with more on it":  {strings.Replace(now, "v1", "v1 x", 1), false},
		"after text":       {"x\n" + now, false},
		"as long as none":  {now + strings.Repeat("x", lfsSize-len(now)), false},
	} {
		tree := makeTree(t, file{path: attributesFile, content: "*.bin filter=lfs\n"}, file{path: "a.bin", content: c.content})
		_, _, err := Prune(t.Context(), tree, mustPatterns(t, "*.bin"))
		if got := lfsPaths(t, err); (len(got) == 1) != c.pointer {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files that are stored in Git after all are none of Git LFS's business, and no
// large one is read to find that out.
func TestLFSReadsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, file{path: attributesFile, content: "*.bin filter=lfs\n"}, file{path: "a/x.bin", content: "x"}, file{path: "a/y.txt"}, file{path: "b/z.bin", content: "z"})
	seen := &spy{Objects: tree.Objects}
	tree.Objects = seen
	for range 2 {
		seen.blobs = nil
		if _, files, err := Prune(t.Context(), tree, mustPatterns(t, "a")); err != nil || files != 2 {
			t.Errorf("%d files, %v", files, err)
		}
		want := []source.ID{seen.lookup(t, tree, attributesFile).ID, seen.lookup(t, tree, "a/x.bin").ID}
		if !slices.Equal(seen.blobs, want) {
			t.Errorf("blobs read: %v, want %v", seen.blobs, want)
		}
	}
	for _, path := range []string{attributesFile, "a/x.bin"} {
		lost := seen.lookup(t, tree, path).ID
		_, _, err := Prune(t.Context(), source.Tree{ID: tree.ID, Objects: &spy{Objects: seen.Objects, lost: func(id source.ID) bool { return id == lost }}}, mustPatterns(t, "a"))
		if !errors.Is(err, source.ErrNotFound) {
			t.Errorf("without %s: %v", path, err)
		}
	}
}

func TestLFSReportsNoMoreThanAPersonReads(t *testing.T) {
	t.Parallel()
	files := []file{{path: attributesFile, content: "*.bin filter=lfs\n"}}
	for i := range maxRefused + 5 {
		files = append(files, pointer(fmt.Sprintf("d%d/%d.bin", i%7, i)))
	}
	_, _, err := Prune(t.Context(), makeTree(t, files...), mustPatterns(t, "**"))
	if all := joined.Errors(err); len(all) != maxRefused+1 || !strings.Contains(all[maxRefused].Error(), "more Git LFS pointers") {
		t.Errorf("%d errors, the last is %v", len(all), all[len(all)-1])
	}
}
