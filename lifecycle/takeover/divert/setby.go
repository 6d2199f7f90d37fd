package divert

import (
	"cmp"
	"fmt"
)

// Image returns the image that a container of a Deployment has, and the manager of fields
// who has set it last, as the API server keeps it; empty where it names nobody. The error
// matches ErrInvalid: the object cannot be read, or has no such container.
func Image(live []byte, container string) (image, manager string, err error) {
	o, err := parse("on the cluster", live)
	if err != nil {
		return "", "", err
	}
	_, c := o.container(container)
	if c == nil {
		return "", "", fmt.Errorf("%w: the Deployment has no container %q", ErrInvalid, container)
	}
	at := ""
	for _, e := range o.entries() {
		// Times are in UTC and to the second: of two of the same second the later entry.
		if owns(e.fields(), elements(container, "/image")) && cmp.Compare(e.text("time"), at) >= 0 {
			manager, at = e.text("manager"), e.text("time")
		}
	}
	return c.Image, manager, nil
}
