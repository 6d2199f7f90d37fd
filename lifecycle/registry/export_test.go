package registry

import "time"

// RestBriefly makes rests so short that a test need not wait for them.
func RestBriefly(r *Registry) { r.retry.first = time.Millisecond }

// Describe is what an error says of its cause.
var Describe = describe
