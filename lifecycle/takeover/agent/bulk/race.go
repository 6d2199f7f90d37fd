//go:build race

package bulk

// watched says that the race detector is on: it learns from the calls that it sees what happened before what.
const watched = true
