package controller_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/pharos-dev/pharos/lifecycle/controller"
)

func ExampleController() {
	c, err := controller.New(controller.Config{Version: "v1.2.0"}) // no Lease: it asks nothing of a cluster
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(c.Handler())
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	fmt.Println(c.Run(ctx))
	answer, err := server.Client().Get(server.URL + "/readyz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output:
	// <nil>
	// 200 OK
}
