package ephemeral_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

// A test asks for a namespace, and need not think of its end.
func Example() {
	test := func(t ephemeral.TB, config *rest.Config) { // of func TestShop(t *testing.T)
		ns := ephemeral.Namespace(t, config, ephemeral.Options{})
		t.Logf("tests in %s", ns)
	}
	_ = test
}

// All tests of a package share a namespace: a TestMain has no test to bind it to.
func ExampleOpen() {
	main := func(config *rest.Config, run func(namespace string) error) (err error) {
		ctx := context.Background()
		space, err := ephemeral.Open(ctx, config, ephemeral.Options{For: "shop's tests", Wait: time.Minute})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, space.Close(ctx)) }()
		return run(space.Name)
	}
	_ = main
}

// Everything that is wrong with options is said at once.
func ExampleOptions() {
	_, err := ephemeral.Open(context.Background(), &rest.Config{Host: "https://cluster.example"}, ephemeral.Options{
		TTL:  90 * time.Millisecond,
		Wait: -time.Second,
	})
	fmt.Println(errors.Is(err, ephemeral.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// invalid options: TTL is 90ms, want whole seconds, at least 5s and at most 3650d
	// invalid options: Wait is -1s, want at least 0
}
