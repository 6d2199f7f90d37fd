package strictyaml

import "strings"

// Nearest returns the candidate that a name is most likely a slip of, or "" if
// none is close.
func Nearest(name string, candidates []string) string {
	const longest = 64 // no field is that long, and the work grows with the square
	if len(name) > longest {
		return ""
	}
	best, least := "", 1+len(name)/3
	for _, c := range candidates {
		if strings.EqualFold(name, c) {
			return c
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d <= least && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := diagonal
			if a[i] != b[j] {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
