// Package asminclude finds what the assembly files of Go packages include.
//
// The Go assembler opens the name after #include as it stands, from the package's
// folder, with cgo or without, and only then looks in its own folders, which hold
// go_asm.h, textflag.h and the like. So a name can lead to any file of the
// machine, past all that says what a package is made of: "go list" does not name
// it. [Check] follows the names within a tree of files and says which lead out.
//
// Sources are split into tokens as the assembler does
// (https://go.dev/src/cmd/asm/internal/lex), and every "include" counts, also in
// a macro or in a part that an #ifdef leaves out. Where it is not followed by a
// name in quotes, a macro could make up the name: that is a problem too.
package asminclude
