package runtime

import "fmt"

// PortError is a port that somebody else has.
type PortError struct {
	Port uint16
	// Owner names the process that has it, such as "node (process 4711)"; it is empty
	// where the system does not say.
	Owner string
}

func (e *PortError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "a process that the system does not name"
	}
	return fmt.Sprintf("port %d of the loopback interface is in use by %s: end it, or give the program another port", e.Port, owner)
}

// Is says that it is ErrPortInUse.
func (e *PortError) Is(target error) bool { return target == ErrPortInUse }
