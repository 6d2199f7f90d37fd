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
