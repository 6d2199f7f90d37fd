// Package linkerflags checks arguments of the Go linker (go tool link, see
// https://pkg.go.dev/cmd/link) that a repository asks for.
//
// The linker has flags that write any file of the user (-o, -cpuprofile), read
// any (-importcfg, and @file in the place of an argument), or run programs
// (-extld). Only those are accepted that do no more than change the program, in
// the same way on every machine.
package linkerflags

import (
	"fmt"
	"strconv"
	"strings"
)

// accepted says of each flag what its value may be.
var accepted = map[string]func(value string) error{
	"s": boolean, "w": boolean, "compressdwarf": boolean, "bindnow": boolean, "d": boolean, "aslr": boolean,
	"checklinkname": boolean, "pruneweakmap": boolean,
	"X": definition, "B": anything, "E": anything, "buildid": anything,
	"T": number, "D": number, "R": number, "funcalign": number, "randlayout": number,
	"linkmode": internal,
}

// isSwitch says which flags have no value but one after "=".
func isSwitch(name string) bool {
	switch name {
	case "s", "w", "compressdwarf", "bindnow", "d", "aslr", "checklinkname", "pruneweakmap":
		return true
	}
	return false
}

const known = "-s, -w, -X, -B, -E, -T, -D, -R, -buildid, -compressdwarf, -bindnow, -aslr, -d, -checklinkname, -pruneweakmap, -funcalign, -randlayout and -linkmode=internal"

// Checker checks the arguments one after the other. The zero value is ready for
// the first.
type Checker struct {
	wants string // the flag that the next argument is the value of
}

// Check checks the next argument.
func (c *Checker) Check(arg string) error {
	if strings.HasPrefix(arg, "@") {
		return fmt.Errorf("is %q, which the linker replaces with what a file of the machine holds", arg)
	}
	if name := c.wants; name != "" {
		c.wants = ""
		if err := accepted[name](arg); err != nil {
			return fmt.Errorf("is %q: -%s %w", arg, name, err)
		}
		return nil
	}
	name, dashed := strings.CutPrefix(arg, "-")
	name = strings.TrimPrefix(name, "-")
	name, value, hasValue := strings.Cut(name, "=")
	check := accepted[name]
	switch {
	case !dashed:
		return fmt.Errorf("is %q, and must be a flag of the linker, or the value of the one before", arg)
	case check == nil && accepted[first(name)] != nil:
		return fmt.Errorf("is %q: write a flag and its value as items of their own, or with = between them", arg)
	case check == nil:
		return fmt.Errorf("is %q, which is not accepted, since flags of the linker can name files and programs of the machine; those that do not are %s", arg, known)
	case !hasValue && isSwitch(name):
		return nil
	case !hasValue:
		c.wants = name
		return nil
	}
	if err := check(value); err != nil {
		return fmt.Errorf("is %q: -%s %w", arg, name, err)
	}
	return nil
}

// End is called after the last argument.
func (c *Checker) End() error {
	if c.wants == "" {
		return nil
	}
	return fmt.Errorf("ends with -%s, which needs a value", c.wants)
}

// All checks all arguments, and returns what is wrong with the first that is not
// accepted.
func All(args []string) error {
	var c Checker
	for i, arg := range args {
		if err := c.Check(arg); err != nil {
			return fmt.Errorf("item %d %w", i, err)
		}
	}
	return c.End()
}

func first(s string) string {
	name, _, _ := strings.Cut(s, " ")
	return name
}

func anything(string) error { return nil }

func boolean(value string) error {
	if _, err := strconv.ParseBool(value); err != nil {
		return fmt.Errorf("is true or false")
	}
	return nil
}

func number(value string) error {
	if _, err := strconv.ParseInt(value, 0, 64); err != nil {
		return fmt.Errorf("needs a number")
	}
	return nil
}

func definition(value string) error {
	if !strings.Contains(value, "=") {
		return fmt.Errorf("needs a variable and its value, such as main.version=1")
	}
	return nil
}

func internal(value string) error {
	if value != "internal" {
		return fmt.Errorf("can only be internal: another linker would be whichever the machine has")
	}
	return nil
}
