package linkerflags_test

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/linkerflags"
)

func TestAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string // in the error; none if it is empty
	}{
		{nil, ""},
		{[]string{"-s", "-w", "--s", "-w=0", "-compressdwarf=false"}, ""},
		{[]string{"-X", "main.version=it's -o two words", "-X=main.a=@b", "-X", "main.a=-o"}, ""},
		{[]string{"-B", "gobuildid", "-buildid=x", "-E", "main", "-T", "0x1000", "-linkmode=internal"}, ""},
		{[]string{"-s", "-o", "/tmp/x"}, `item 1 is "-o", which is not accepted`},
		{[]string{"-o=/tmp/x"}, "is not accepted"},
		{[]string{"--o=/tmp/x"}, "is not accepted"},
		{[]string{"-cpuprofile=/tmp/x"}, "is not accepted"},
		{[]string{"-memprofile", "/tmp/x"}, "is not accepted"},
		{[]string{"-benchmarkprofile=/tmp/x"}, "is not accepted"},
		{[]string{"-importcfg=/etc/x"}, "is not accepted"},
		{[]string{"-extld=/bin/sh"}, "is not accepted"},
		{[]string{"-r", "/lib"}, "is not accepted"},
		{[]string{"-V"}, "is not accepted"},
		{[]string{"-linkmode", "external"}, "can only be internal"},
		{[]string{"@/etc/x"}, "what a file of the machine holds"},
		{[]string{"-X", "@/etc/x=y"}, "what a file of the machine holds"},
		{[]string{"/etc/x.a"}, "must be a flag"},
		{[]string{"-"}, "is not accepted"},
		{[]string{"--", "/etc/x.a"}, "is not accepted"},
		{[]string{"---o=x"}, "is not accepted"},
		{[]string{"-s -w"}, "items of their own"},
		{[]string{"-X main.a=b"}, "items of their own"},
		{[]string{"-s", "true"}, "must be a flag"},
		{[]string{"-s=/tmp/x"}, "is true or false"},
		{[]string{"-T", "x"}, "needs a number"},
		{[]string{"-X", "-o"}, "needs a variable and its value"},
		{[]string{"-X"}, "ends with -X, which needs a value"},
	} {
		err := linkerflags.All(c.args)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}
