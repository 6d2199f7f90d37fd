package workstation_test

import (
	"fmt"

	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

func ExampleInherited() {
	fmt.Println(workstation.Inherited([]string{"PATH=/usr/bin", "AWS_SECRET_ACCESS_KEY=x", "HOME=/home/ann"}))
	// Output:
	// [PATH=/usr/bin HOME=/home/ann]
}
