package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json; see "go doc test2json" and "go help buildjson".
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string
	FailedBuild string
}

// test names a test or, with an empty name, a package's own part of its output.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + " " + t.name }

type report struct {
	out      io.Writer
	packages map[string]*progress
	build    map[string]*strings.Builder
	results  map[test]string
	passed   int
	failed   int
	skipped  int
	problems []string
}

// progress is a package whose tests are under way.
type progress struct {
	tests  int
	failed int
	order  []string
	output map[string]*strings.Builder
	active map[string]bool
}

func newReport(out io.Writer) *report {
	return &report{
		out:      out,
		packages: map[string]*progress{},
		build:    map[string]*strings.Builder{},
		results:  map[test]string{},
	}
}

// line takes one line of the input and says whether it led to output.
func (r *report) line(line []byte) bool {
	var e event
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil || e.Action == "" {
		r.out.Write(line)
		return true
	}
	switch {
	case e.Package == "":
		return r.buildEvent(e)
	case e.Test == "":
		return r.packageEvent(e)
	default:
		r.testEvent(e)
		return false
	}
}

func (r *report) buildEvent(e event) bool {
	text := r.build[e.ImportPath]
	if text == nil {
		text = &strings.Builder{}
		r.build[e.ImportPath] = text
	}
	switch e.Action {
	case "build-output":
		text.WriteString(e.Output)
	case "build-fail":
		io.WriteString(r.out, text.String())
		delete(r.build, e.ImportPath)
		return true
	}
	return false
}

func (r *report) pkg(name string) *progress {
	p := r.packages[name]
	if p == nil {
		p = &progress{output: map[string]*strings.Builder{}, active: map[string]bool{}}
		r.packages[name] = p
	}
	return p
}

func (r *report) testEvent(e event) {
	p := r.pkg(e.Package)
	switch e.Action {
	case "run", "cont":
		p.active[e.Test] = true
		return
	case "pause":
		delete(p.active, e.Test)
		return
	case "output":
		p.add(e)
		return
	case "pass":
		r.passed++
		// What a good test printed is of no interest, and may be much.
		delete(p.output, e.Test)
	case "fail":
		r.failed++
		p.failed++
	case "skip":
		r.skipped++
		r.problems = append(r.problems, fmt.Sprintf("skipped: %s %s", e.Package, e.Test))
	default:
		return
	}
	p.tests++
	delete(p.active, e.Test)
	r.results[test{e.Package, e.Test}] = e.Action
}

func (p *progress) add(e event) {
	text := p.output[e.Test]
	if text == nil {
		text = &strings.Builder{}
		p.output[e.Test] = text
		p.order = append(p.order, e.Test)
	}
	text.WriteString(e.Output)
}

func (r *report) packageEvent(e event) bool {
	p := r.pkg(e.Package)
	switch e.Action {
	case "output":
		p.add(e)
		return false
	case "pass", "fail", "skip":
	default:
		return false
	}
	delete(r.packages, e.Package)
	if e.Action == "fail" {
		r.end(e.Package, p)
	} else {
		p.print(r.out, "--- SKIP")
	}
	verdict := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "none"}[e.Action]
	note := ""
	if e.FailedBuild != "" {
		note = "  (it does not build)"
	}
	took := time.Duration(e.Elapsed * float64(time.Second)).Round(100 * time.Millisecond)
	fmt.Fprintf(r.out, "%s  %s  %s  %d tests%s\n", verdict, e.Package, took, p.tests, note)
	return true
}

// end prints and counts a package that failed, or whose end never came.
func (r *report) end(name string, p *progress) {
	p.print(r.out, "")
	unfinished := slices.Sorted(maps.Keys(p.active))
	for _, t := range unfinished {
		r.results[test{name, t}] = "fail"
		r.problems = append(r.problems, fmt.Sprintf("did not end: %s %s", name, t))
	}
	r.failed += len(unfinished)
	p.failed += len(unfinished)
	if p.failed == 0 {
		// A package can fail without a test that does: it does not build, a race after the last test, os.Exit.
		r.failed++
		r.problems = append(r.problems, "failed outside of any test: "+name)
	}
}

// print writes what the package's tests printed, one after the other; only those that say so, if marker is not empty.
func (p *progress) print(out io.Writer, marker string) {
	for _, name := range p.order {
		text, ok := p.output[name]
		if ok && strings.Contains(text.String(), marker) {
			io.WriteString(out, text.String())
		}
	}
}

// running says what has not ended yet.
func (r *report) running() {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		active := slices.Sorted(maps.Keys(r.packages[name].active))
		if len(active) > 3 {
			active = append(active[:3], "…")
		}
		fmt.Fprintf(r.out, "...   %s  %d tests so far  %s\n", name, r.packages[name].tests, strings.Join(active, ", "))
	}
}

// finish takes the input's end into account and prints every problem that is not a failed test of its own.
func (r *report) finish(required []test) {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		r.problems = append(r.problems, "its run did not end: "+name)
		r.end(name, r.packages[name])
	}
	for _, t := range required {
		if _, ok := r.results[t]; !ok {
			r.failed++
			r.problems = append(r.problems, fmt.Sprintf("must pass, but did not run: %s", t))
		}
	}
	if r.passed+r.failed+r.skipped == 0 {
		r.problems = append(r.problems, "no test ran")
	}
	for _, t := range slices.SortedFunc(maps.Keys(r.results), func(a, b test) int { return strings.Compare(a.String(), b.String()) }) {
		if r.results[t] == "fail" {
			fmt.Fprintf(r.out, "failed: %s\n", t)
		}
	}
	for _, problem := range r.problems {
		fmt.Fprintln(r.out, problem)
	}
}

func (r *report) good() bool { return r.failed == 0 && r.skipped == 0 && r.passed > 0 }

func (r *report) closing() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.passed, r.failed, r.skipped)
}
