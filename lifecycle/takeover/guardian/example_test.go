package guardian_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

func Example() {
	folder, err := os.MkdirTemp("", "checkout-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	client, err := guardian.Connect(context.Background(), folder)
	if errors.Is(err, guardian.ErrNotRunning) {
		fmt.Println(err)
		return
	}
	status, err := client.Status(context.Background())
	fmt.Println(status.Step, err)
	// Output:
	// no takeover runs in this checkout
}
