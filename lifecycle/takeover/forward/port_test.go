package forward_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover/forward"
)

func TestPortsStayTheSame(t *testing.T) {
	t.Parallel()
	bound := func(owner string) uint16 {
		f, err := forward.New(forward.Config{REST: &rest.Config{Host: "127.0.0.1:1"}, Owner: owner, Forwards: []forward.Forward{
			{Service: "stays", Namespace: "shop", Port: intstr.FromInt32(80)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.Addresses()[0].Bound
	}
	first := bound("one")
	if second := bound("one"); first != second || first < 20000 || first >= 30000 {
		t.Errorf("the port is %d and then %d", first, second)
	}
	// Another owner's is another one, whoever comes first.
	if other := bound("other"); other == first || other != bound("other") {
		t.Errorf("the port of another owner is %d", other)
	}
	// Where another process has it, the next one that follows from the name.
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if second, third := bound("one"), bound("one"); second == first || second != third {
		t.Errorf("beside %d the port is %d and then %d", first, second, third)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		l, err := net.Listen("tcp4", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		_, err = forward.New(forward.Config{REST: &rest.Config{Host: "127.0.0.1:1"}, Forwards: []forward.Forward{
			{Service: "db", Namespace: "shop", Port: intstr.FromInt32(80), Local: uint16(port)},
			{Service: "db", Port: intstr.FromInt32(80)},
		}})
		if !errors.Is(err, forward.ErrInUse) {
			t.Fatalf("%s: %v", host, err)
		}
		for _, want := range []string{"forward shop/db:80", fmt.Sprint("port ", port), "namespace", fmt.Sprintf("(process %d)", os.Getpid())} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error lacks %q: %v", want, err)
			}
		}
	}
}
