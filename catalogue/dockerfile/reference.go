package dockerfile

import (
	"errors"
	"fmt"

	"github.com/distribution/reference"
)

// scratch is the name of the empty image.
const scratch = "scratch"

// checkReference refuses what BuildKit does not take for an image reference.
func checkReference(ref string) error {
	if ref == "" {
		return errors.New("is empty")
	}
	if _, err := reference.ParseNormalizedNamed(ref); err != nil {
		return fmt.Errorf("is no image reference: %w", err)
	}
	return nil
}
