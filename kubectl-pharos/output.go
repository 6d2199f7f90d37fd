package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

const apiVersion = "pharos.dev/v1alpha1"

// object is anything printable by -o: it becomes apiVersion, kind, metadata and
// its own fields.
type object map[string]any

func newObject(kind, name string, fields any) (object, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	o := object{}
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	o["apiVersion"], o["kind"] = apiVersion, kind
	if name == "" {
		name = strings.ToLower(kind) // what it is of is not known: it has a name all the same
	}
	o["metadata"] = map[string]any{"name": name}
	return o, nil
}

// output is the -o flag.
type output struct{ flags *genericclioptions.PrintFlags }

func newOutput(cmd *cobra.Command) *output {
	o := &output{flags: genericclioptions.NewPrintFlags("")}
	o.flags.AddFlags(cmd)
	if f := cmd.Flags().Lookup("output"); f != nil {
		f.Usage = "Output format. One of: (" + strings.Join(o.formats(), ", ") + ")."
	}
	_ = cmd.Flags().MarkHidden("show-managed-fields") // nothing that is printed has any
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats(), cobra.ShellCompDirectiveNoFileComp))
	return o
}

func (o *output) formats() []string { return append(o.flags.AllowedFormats(), "wide") }

func (o *output) format() string { return *o.flags.OutputFormat }

// human says that the output is for a person: nothing asked for, or wide.
func (o *output) human() bool { return o.format() == "" || o.format() == "wide" }

// check refuses a format that does not exist before any work is done for it.
func (o *output) check() error {
	if o.human() {
		return nil
	}
	_, err := o.flags.ToPrinter()
	switch {
	case genericclioptions.IsNoCompatiblePrinterError(err):
		return fmt.Errorf("there is no output format %q: -o is one of %s", o.format(), strings.Join(o.formats(), ", "))
	case err != nil:
		return fmt.Errorf("-o %s: %w", o.format(), err)
	}
	return nil
}

// print writes one object in the format of -o.
func (o *output) print(w io.Writer, obj object) error {
	return o.printObject(w, &unstructured.Unstructured{Object: obj})
}

// printList writes a list in the format of -o.
func (o *output) printList(w io.Writer, kind string, items []object) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	for _, item := range items {
		list.Items = append(list.Items, unstructured.Unstructured{Object: item})
	}
	return o.printObject(w, list)
}

// printEach writes what became of each thing that was named, in the format of -o: one
// alone as it is, several as a list. People have been told already.
func (o *output) printEach(w io.Writer, kind string, items []object) error {
	switch {
	case o.human():
		return nil
	case len(items) == 1:
		return o.print(w, items[0])
	}
	return o.printList(w, kind, items)
}

func (o *output) printObject(w io.Writer, obj runtime.Object) error {
	p, err := o.flags.ToPrinter()
	if err != nil {
		return err
	}
	return p.PrintObj(obj, w)
}

// printJSON writes a value with apiVersion and kind as print does for -o json,
// if its fields stand in the order of their names.
func printJSON(w io.Writer, value any) error {
	data, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// column is one column of a table; wide ones are shown with -o wide only.
type column struct {
	name string
	wide bool
}

// table writes rows as kubectl does.
func (o *output) table(w io.Writer, columns []column, rows [][]any) error {
	t := &metav1.Table{}
	for _, c := range columns {
		def := metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if c.wide {
			def.Priority = 1
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, def)
	}
	for _, r := range rows {
		t.Rows = append(t.Rows, metav1.TableRow{Cells: r})
	}
	return printers.NewTablePrinter(printers.PrintOptions{Wide: o.format() == "wide"}).PrintObj(t, w)
}

// linef writes a line for a person, who may look at it on a terminal: names of
// files, answers of servers and what tools print must not speak to that.
func linef(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, visible(fmt.Sprintf(format, args...)))
}

// oneLine is for a name, which is one line whatever it holds: that of a Role may have
// ends of lines, and would look like several.
func oneLine(s string) string { return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s) }

// objectName names an object as kubectl does: configmap/over, deployment.apps/api.
func objectName(group, kind, name string) string {
	return strings.TrimSuffix(strings.ToLower(kind)+"."+group, ".") + "/" + oneLine(name)
}

// visible has control characters, bytes that are no text and what turns the
// direction of writing as Go writes them in a string. Ends of lines and tabs stay.
func visible(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029':
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}
