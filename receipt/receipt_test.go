package receipt_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pharos-dev/pharos/receipt"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

// The format may never change under an ID: these files and the IDs they are
// named by are what other versions wrote.
func TestGolden(t *testing.T) {
	t.Parallel()
	sha256Objects := smallest()
	sha256Objects.Commit, sha256Objects.Tree = strings.Repeat("2", 64), strings.Repeat("3", 64)
	for name, r := range map[string]receipt.Record{"smallest": smallest(), "full": full(), "sha256": sha256Objects, "rollback": rollback()} {
		data, err := r.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		id, err := r.ID()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "golden", name+"."+id.Hex()+".json")
		if *update {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%s has another ID than its golden file: %v", name, err)
		}
		if !bytes.Equal(data, want) {
			t.Errorf("%s: canonical form differs:\n%s", name, cmp.Diff(string(want), string(data)))
		}
		got, gotID, err := receipt.Parse(want)
		if err != nil {
			t.Fatal(err)
		}
		if gotID != id {
			t.Errorf("%s: Parse says %s, ID says %s", name, gotID, id)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("%s does not read back:\n%s", name, diff)
		}
	}
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) != 4 {
		t.Errorf("%d golden files (%v), want 4: is one of another version left over?", len(files), err)
	}
}

// The package comment's example is what a reader checks their own
// implementation by.
func TestDocExample(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	data, err := smallest().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	id, err := smallest().ID()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "# A worked example")
	example, _, _ := strings.Cut(rest, "# Outcomes")
	var lines strings.Builder
	record, _, _ := strings.Cut(example, "Its ID")
	for line := range strings.Lines(record) {
		if l, ok := strings.CutPrefix(line, "//\t"); ok {
			lines.WriteString(strings.TrimSpace(l))
		}
	}
	if lines.String() != string(data) {
		t.Errorf("the example in doc.go differs:\n%s", cmp.Diff(string(data), lines.String()))
	}
	if !strings.Contains(example, string(id)) {
		t.Errorf("doc.go does not give the ID %s", id)
	}
	if !strings.Contains(example, fmt.Sprintf("has %d\n", len(data))) {
		t.Errorf("doc.go does not say that the example has %d bytes", len(data))
	}
}

func TestEmptySlicesAreTheSameRecord(t *testing.T) {
	t.Parallel()
	a, b := smallest(), smallest()
	b.Images, b.Reads, b.Objects = []receipt.Image{}, []string{}, []receipt.Object{}
	idA, errA := a.ID()
	idB, errB := b.ID()
	if errA != nil || errB != nil || idA != idB {
		t.Errorf("%s (%v) and %s (%v)", idA, errA, idB, errB)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*receipt.Record)
		fields []string
	}{
		"zero": {func(r *receipt.Record) { *r = receipt.Record{} },
			[]string{"apiVersion", "kind", "target.name", "target.clusterUID", "commit", "tree", "catalogue", "renderer.name", "renderer.version"}},
		"parent":           {func(r *receipt.Record) { r.Parent = "sha256:1" }, []string{"parent"}},
		"rollback":         {func(r *receipt.Record) { r.RollbackOf = "main" }, []string{"rollbackOf"}},
		"short commit":     {func(r *receipt.Record) { r.Commit = "1111111" }, []string{"commit"}},
		"upper case":       {func(r *receipt.Record) { r.Tree = strings.Repeat("A", 40) }, []string{"tree"}},
		"name with break":  {func(r *receipt.Record) { r.Target.Name = "a\nb" }, []string{"target.name"}},
		"image twice":      {func(r *receipt.Record) { r.Images[1].Name = "web" }, []string{"images[1].name"}},
		"tag":              {func(r *receipt.Record) { r.Images[0].Repository += ":v1" }, []string{"images[0].repository"}},
		"digest":           {func(r *receipt.Record) { r.Images[0].Repository += "@" + digest("1") }, []string{"images[0].repository"}},
		"no platforms":     {func(r *receipt.Record) { r.Images[1].Platforms = nil }, []string{"images[1].platforms"}},
		"platform order":   {func(r *receipt.Record) { r.Images[0].Platforms = []string{"b/b", "a/a"} }, []string{"images[0].platforms[1]"}},
		"no UTF-8":         {func(r *receipt.Record) { r.Images[0].Preimage[0].Value = "\xff" }, []string{"images[0].preimage[0].value"}},
		"empty key":        {func(r *receipt.Record) { r.Images[0].Preimage[0].Key = "" }, []string{"images[0].preimage[0].key"}},
		"empty base":       {func(r *receipt.Record) { r.Images[0].Bases[0] = "" }, []string{"images[0].bases[0]"}},
		"reads order":      {func(r *receipt.Record) { r.Reads = []string{"b", "a"} }, []string{"reads[1]"}},
		"reads twice":      {func(r *receipt.Record) { r.Reads = []string{"a", "a"} }, []string{"reads[1]"}},
		"reads outside":    {func(r *receipt.Record) { r.Reads = []string{"../a", "/b", "c/../d", "e/"} }, []string{"reads[0]", "reads[1]", "reads[2]", "reads[3]"}},
		"reads empty":      {func(r *receipt.Record) { r.Reads = []string{""} }, []string{"reads[0]"}},
		"objects order":    {func(r *receipt.Record) { r.Objects[0], r.Objects[1] = r.Objects[1], r.Objects[0] }, []string{"objects[1]"}},
		"objects twice":    {func(r *receipt.Record) { r.Objects[1] = r.Objects[0]; r.Objects[1].Version = "v2" }, []string{"objects[1]"}},
		"object's hash":    {func(r *receipt.Record) { r.Objects[2].Hash = "" }, []string{"objects[2].hash"}},
		"several together": {func(r *receipt.Record) { r.Commit = ""; r.Images[1].Digest = ""; r.Objects[0].Kind = "" }, []string{"commit", "images[1].digest", "objects[0].kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := full()
			tc.change(&r)
			err := r.Validate()
			var invalid *receipt.InvalidError
			if !errors.As(err, &invalid) || !errors.Is(err, receipt.ErrInvalid) {
				t.Fatalf("got %v, want an *InvalidError", err)
			}
			var fields []string
			for _, f := range invalid.Findings {
				fields = append(fields, f.Field)
				if !strings.Contains(err.Error(), f.Field+": "+f.Message) {
					t.Errorf("the message does not say %s: %s", f.Field, f.Message)
				}
			}
			if diff := cmp.Diff(tc.fields, fields); diff != "" {
				t.Errorf("findings differ:\n%s\n%v", diff, err)
			}
			if _, err := r.Canonical(); !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("Canonical of it: %v", err)
			}
			if _, err := r.ID(); !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("ID of it: %v", err)
			}
		})
	}
	if err := full().Validate(); err != nil {
		t.Error(err)
	}
}

func TestInvalidErrorIsShort(t *testing.T) {
	t.Parallel()
	r := smallest()
	for range 100 {
		r.Reads = append(r.Reads, "same")
	}
	err := r.Validate()
	if lines := strings.Count(err.Error(), "\n"); lines != 21 || !strings.HasSuffix(err.Error(), "and 79 more") {
		t.Errorf("%d lines:\n%v", lines, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good, err := full().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) string {
		s := strings.Replace(string(good), old, new, 1)
		if s == string(good) {
			t.Fatalf("%q is not in the record", old)
		}
		return s
	}
	for name, tc := range map[string]struct {
		data string
		want error
	}{
		"nothing":         {"", receipt.ErrInvalid},
		"null":            {"null", receipt.ErrInvalid},
		"array":           {"[]", receipt.ErrInvalid},
		"unknown field":   {replace(`"commit":`, `"comment":"x","commit":`), receipt.ErrInvalid},
		"nested unknown":  {replace(`"renderer":{`, `"renderer":{"flags":"x",`), receipt.ErrInvalid},
		"duplicate field": {replace(`"kind":"Receipt"`, `"kind":"Receipt","kind":"Receipt"`), receipt.ErrInvalid},
		"case":            {replace(`"commit":`, `"Commit":`), receipt.ErrInvalid},
		"white space":     {replace(`"kind":`, `"kind": `), receipt.ErrInvalid},
		"end of line":     {string(good) + "\n", receipt.ErrInvalid},
		"two documents":   {string(good) + string(good), receipt.ErrInvalid},
		"cut off":         {string(good[:len(good)/2]), receipt.ErrInvalid},
		"long escape":     {replace(`für`, `f\u00fcr`), receipt.ErrInvalid},
		"empty optional":  {replace(`"bases":[`, `"aases":[],"bases":[`), receipt.ErrInvalid},
		"broken rule":     {replace(`"linux/arm64"`, `"linux/aaa64"`), receipt.ErrInvalid},
		"later version":   {replace(`v1alpha1`, `v2`), receipt.ErrInvalid},
		"other kind":      {replace(`"Receipt"`, `"Recipe"`), receipt.ErrInvalid},
		"not UTF-8":       {replace(`für`, "f\xffr"), receipt.ErrInvalid},
		"deep":            {strings.Repeat("[", 100_000), receipt.ErrInvalid},
		"large":           {strings.Repeat(" ", receipt.MaxSize+1), receipt.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r, id, err := receipt.Parse([]byte(tc.data)); !errors.Is(err, tc.want) || id != "" {
				t.Errorf("got %v, %q, %v, want %v", r, id, err, tc.want)
			}
		})
	}
	_, _, err = receipt.Parse([]byte(strings.ReplaceAll(string(good), "v1alpha1", "v2")))
	if err == nil || !strings.Contains(err.Error(), "pharos.dev/v2") {
		t.Errorf("a later version's record is refused with %v, want its apiVersion", err)
	}
}

func TestCanonicalTooLarge(t *testing.T) {
	t.Parallel()
	r := full()
	r.Images[0].Preimage[0].Value = strings.Repeat("x", receipt.MaxSize)
	if _, err := r.Canonical(); !errors.Is(err, receipt.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	o := live()
	o.Time = o.Time.In(time.FixedZone("", 3600))
	data, err := o.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"actor":"ann@laptop","objects":[{"group":"apps","kind":"Deployment","name":"web","namespace":"shop","owned":"` + digest("3") +
		`","uid":"u-1"}],"operation":"op-1","time":"2026-03-04T05:06:07.000000089Z","type":"live"}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	got, err := receipt.ParseOutcome(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live(), got); diff != "" {
		t.Error(diff)
	}
	for name, data := range map[string]string{
		"not UTC":   strings.Replace(want, "05:06:07.000000089Z", "06:06:07.000000089+01:00", 1),
		"no type":   strings.Replace(want, `,"type":"live"`, "", 1),
		"bad type":  strings.Replace(want, `"live"`, `"lively"`, 1),
		"unknown":   strings.Replace(want, `"type"`, `"tape"`, 1),
		"no time":   strings.Replace(want, `"2026-03-04T05:06:07.000000089Z"`, `"0001-01-01T00:00:00Z"`, 1),
		"bad owned": strings.Replace(want, digest("3"), "md5:1", 1),
		"empty":     "",
	} {
		if _, err := receipt.ParseOutcome([]byte(data)); !errors.Is(err, receipt.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	if _, err := receipt.ParseOutcome(make([]byte, receipt.MaxSize+1)); !errors.Is(err, receipt.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	id, err := receipt.ParseID(digest("a"))
	if err != nil || id.Short() != strings.Repeat("a", 12) || id.Hex() != strings.Repeat("a", 64) {
		t.Errorf("%q (%q), %v", id, id.Short(), err)
	}
	for _, s := range []string{"", "sha256:", strings.Repeat("a", 64), digest("A"), digest("g"), digest("a") + "a", "sha512:" + strings.Repeat("a", 64)} {
		if id, err := receipt.ParseID(s); !errors.Is(err, receipt.ErrInvalid) || id != "" {
			t.Errorf("%q: %q, %v", s, id, err)
		}
	}
	if got := receipt.ID("").Short(); got != "" {
		t.Errorf("no ID is short %q", got)
	}
}

// Receipts are read by programs that have nothing to do with a cluster.
func TestNoKubernetes(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".", "./dir").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		if first, _, _ := strings.Cut(pkg, "/"); strings.HasSuffix(first, "k8s.io") {
			t.Errorf("links %s", pkg)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range []receipt.Record{smallest(), full(), rollback()} {
		data, err := r.Canonical()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"apiVersion":"pharos.dev/v1alpha1","kind":"Receipt","kind":"Receipt"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, id, err := receipt.Parse(data)
		if err != nil {
			if !errors.Is(err, receipt.ErrInvalid) && !errors.Is(err, receipt.ErrTooLarge) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := r.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("accepted %q, which is written as %q", data, again)
		}
		if want, err := r.ID(); err != nil || id != want {
			t.Fatalf("Parse says %s, ID says %s (%v)", id, want, err)
		}
	})
}

func FuzzParseOutcome(f *testing.F) {
	for _, o := range []receipt.Outcome{live(), argo(), completed()} {
		data, err := o.Canonical()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := receipt.ParseOutcome(data)
		if err != nil {
			return
		}
		if again, err := o.Canonical(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("accepted %q, which is written as %q (%v)", data, again, err)
		}
	})
}

// TestDelivered tells what a writer may have left that was killed before it
// first set the pointers from what only comes afterwards.
func TestDelivered(t *testing.T) {
	t.Parallel()
	attempt, live := &receipt.Outcome{Type: receipt.OutcomeAttempt}, &receipt.Outcome{Type: receipt.OutcomeLive}
	for name, tc := range map[string]struct {
		summary receipt.Summary
		want    bool
	}{
		"only written":    {receipt.Summary{}, false},
		"begun":           {receipt.Summary{Last: attempt}, false},
		"live":            {receipt.Summary{Last: live, Result: live}, true},
		"begun once more": {receipt.Summary{Last: attempt, Result: live}, true},
		"superseded":      {receipt.Summary{Last: &receipt.Outcome{Type: receipt.OutcomeSuperseded}}, true},
		"cannot be read":  {receipt.Summary{Err: receipt.ErrCorrupt}, true},
	} {
		if got := tc.summary.Delivered(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
