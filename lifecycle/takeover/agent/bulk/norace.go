//go:build !race

package bulk

const watched = false
