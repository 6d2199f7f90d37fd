package forward_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover/forward"
)

func Example() {
	f, err := forward.New(forward.Config{
		REST:     &rest.Config{Host: "https://api.example.org"},
		Forwards: []forward.Forward{{Service: "db", Namespace: "shop", Port: intstr.FromInt32(5432), Local: 15432}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for _, a := range f.Addresses() {
		fmt.Println(a.Forward, "is at", a)
	}
	// f.Run(ctx) serves until ctx ends.

	// Output: shop/db:5432 is at 127.0.0.1:15432
}
