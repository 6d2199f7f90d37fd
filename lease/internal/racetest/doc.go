// Package racetest has processes race for one lease, kills some of them, lets
// others sleep through the end of theirs, breaks leases, and judges by what was
// written under the lease, and by what the API server recorded, that there was one
// holder at a time.
//
// The processes are the test program itself: its TestMain calls [Main].
package racetest
