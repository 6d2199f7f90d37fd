package transport_test

import (
	"fmt"

	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// Whoever has a tree knows by which commit and reference it stands on a Git server.
func ExampleInputsCommit() {
	const tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" // the empty tree
	fmt.Println(transport.InputsRef(tree))
	fmt.Println(transport.InputsCommit(tree))
	// Output:
	// refs/pharos/inputs/4b825dc642cb6eb9a060e54bf8d69288fbee4904
	// f32fa03161cd36724781b050091530d4776f69af
}

// A receipt keeps its commit on the Git server under a reference of its own.
func ExampleReceiptRef() {
	fmt.Println(transport.ReceiptRef("sha256:60bdb12d647de81eddfe7c27978c2eb409f919b182f926915b2c481249fc9035"))
	// Output:
	// refs/pharos/receipts/60bdb12d647de81eddfe7c27978c2eb409f919b182f926915b2c481249fc9035
}
