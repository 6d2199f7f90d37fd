package detect_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// update has the samples take what is detected for what should be.
var update = os.Getenv("PHAROS_UPDATE_SAMPLES") != ""

// result is the name of the file of a sample that holds what is detected.
const result = "want"

// TestSamples looks through each repository of testdata, compares what comes out
// with the sample's last file, and checks it as images --check would.
func TestSamples(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(samples) == 0 {
		t.Fatal(samples, err)
	}
	for _, name := range samples {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files, want := map[string]source.File{}, ""
			for _, f := range archive.Files {
				if f.Name == result {
					want = string(f.Data)
					continue
				}
				files[f.Name] = source.File{Content: strings.ReplaceAll(string(f.Data), "GOVERSION", runtime.Version())}
			}
			found := look(t, files, options(t))
			got := strings.ReplaceAll(string(found.YAML), runtime.Version(), "GOVERSION")
			got += "\n# Unlocked: " + strings.Join(found.Unlocked, " ") + "\n"
			if update {
				archive.Files = append(archive.Files[:len(files):len(files)], txtar.File{Name: result, Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if again := look(t, files, options(t)); !bytes.Equal(again.YAML, found.YAML) {
				t.Errorf("the second time it is\n%s", again.YAML)
			}
			checkIts(t, files, found)
		})
	}
}

func options(t *testing.T) detect.Options {
	return detect.Options{Go: gopackage.Config{Env: append(os.Environ(), "GOPROXY=off"), TempDir: t.TempDir()}}
}

func tree(t testing.TB, files map[string]source.File) source.Tree {
	t.Helper()
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func look(t *testing.T, files map[string]source.File, o detect.Options) *detect.Result {
	t.Helper()
	found, err := detect.Detect(t.Context(), tree(t, files), o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkIts adds what was detected to the tree, with a lock of what is to be
// locked, and wants nothing to be found wrong with it.
func checkIts(t *testing.T, files map[string]source.File, found *detect.Result) {
	t.Helper()
	files[catalogue.FileName] = source.File{Content: string(found.YAML)}
	if len(found.Unlocked) > 0 {
		lock := catalogue.Lock{Images: map[string]string{}}
		for i, ref := range found.Unlocked {
			lock.Images[ref] = fmt.Sprintf("sha256:%064d", i)
		}
		data, err := lock.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		files[catalogue.LockFileName] = source.File{Content: string(data)}
	}
	whole := tree(t, files)
	findings, err := catalogue.Check(t.Context(), whole)
	if err != nil {
		t.Fatalf("%v\n%s", err, found.YAML)
	}
	compared, err := inputs.Check(t.Context(), whole, options(t).Go)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(findings, compared...) {
		t.Errorf("its own check finds: %s", f)
	}
	c, err := catalogue.Load(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), whole)
	if err != nil {
		t.Errorf("fingerprints: %v", err)
	}
	for _, st := range states {
		if st.Image.Build.Go == nil {
			continue
		}
		all, pruned := programReads(t, whole, st.Image), programReads(t, st.Inputs, st.Image)
		if d := cmp.Diff(all, pruned); d != "" {
			t.Errorf("image %s is built from other files than the tree has for it: (-tree +inputs)\n%s", st.Image.Name, d)
		}
	}
}

// programReads asks the go command what it reads of a tree.
func programReads(t *testing.T, tree source.Tree, image catalogue.Image) []gopackage.Reads {
	t.Helper()
	folder, err := gopackage.Open(t.Context(), tree, options(t).Go)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	reads, err := folder.Reads(t.Context(), []gopackage.Recipe{{Build: *image.Build.Go, Platforms: image.Platforms}})
	if err != nil {
		t.Fatal(err)
	}
	return reads
}
