package golang_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// object is an ELF object file for amd64 with nothing in it.
func object(t *testing.T) string {
	t.Helper()
	names := "\x00.shstrtab\x00"
	const header, section = 64, 64
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Shoff: header, Ehsize: header, Shentsize: section, Shnum: 2, Shstrndx: 1,
	}
	sections := []elf.Section64{{}, {Name: 1, Type: uint32(elf.SHT_STRTAB), Off: header + 2*section, Size: uint64(len(names)), Addralign: 1}}
	var b bytes.Buffer
	for _, part := range []any{h, sections, []byte(names)} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// The C compiler of the machine has no say in a program with object files.
func TestObjectFilesAreLinkedByGo(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	called := filepath.Join(bin, "called")
	for _, name := range []string{"gcc", "clang", "cc"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho \"$0 $*\" >> '"+called+"'\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	f.build(f.request(with(greeting, map[string]string{"cmd/hello/x_linux_amd64.syso": object(t)})))
	failed := f.fail(f.request(with(greeting, map[string]string{"cmd/hello/x_linux_amd64.syso": "no object file"})))
	if !strings.Contains(failed.Reason, "*.syso") || !strings.Contains(failed.Reason, "Dockerfile") {
		t.Errorf("the reason is %q", failed.Reason)
	}
	if said, err := os.ReadFile(called); !os.IsNotExist(err) {
		t.Errorf("the C compiler was called: %s, %v", said, err)
	}
}
