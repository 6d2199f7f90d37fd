package job

import "time"

// SetInterval has a Job looked at more often than a person would.
func (b *Backend) SetInterval(d time.Duration) { b.interval = d }
