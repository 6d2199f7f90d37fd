// Command licenses names the licence of every module that the packages of a module link, on each platform that is
// released, and fails where one is unknown or not allowed.
//
//	go run ./licenses -C ../..
//
// It reads the licence files in the folder of each linked package and in all folders above it, up to the module's
// root, since a module may hold code under more than one licence.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

// platforms are those whose builds are released: each may link modules of its own.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

func main() {
	dir := flag.String("C", ".", "folder of the module")
	flag.Parse()
	ok, err := run(os.Stdout, *dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(out io.Writer, dir string) (ok bool, err error) {
	modules, err := linked(dir, platforms)
	if err != nil {
		return false, err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var findings []string
	for _, m := range modules {
		ids, problems, err := m.licences()
		if err != nil {
			return false, err
		}
		fmt.Fprintf(table, "%s\t%s\t%v\n", m.Path, m.Version, ids)
		findings = append(findings, problems...)
	}
	if err := table.Flush(); err != nil {
		return false, err
	}
	slices.Sort(findings)
	for _, f := range slices.Compact(findings) {
		fmt.Fprintln(out, f)
	}
	return len(findings) == 0, nil
}
