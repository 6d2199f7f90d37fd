package apply

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// driftReason says who may have changed an object since it was seen: those
// other managers that wrote to it after our last apply, and where. The values
// from before are not known any more, so it names suspects, no proof.
func driftReason(o object, manager string) string {
	const what = "fields that were applied have been changed, removed or taken over"
	ours, others := applied(managers(o), manager)
	if ours.manager == "" {
		return "whether it is as it was applied cannot be told, since its metadata.managedFields do not name " + strconv.Quote(manager) +
			" any more: somebody cleared them, or took over everything. Deliver it again; what then conflicts, with --force-conflicts"
	}
	var since []string
	for _, e := range others {
		// Times have the form of RFC 3339 in UTC, which sorts; a write to scale
		// leaves none.
		if e.subresource == "status" || e.time != "" && e.time < ours.time {
			continue
		}
		since = append(since, fmt.Sprintf("%q wrote %s", e.manager, somePaths(e.fields)))
	}
	if len(since) == 0 {
		return what
	}
	return what + "; since then " + strings.Join(since, ", ")
}

// somePaths names the first few fields of a set.
func somePaths(set fields) string {
	const few = 5
	paths := leaves(nil, "", set)
	slices.Sort(paths)
	if len(paths) > few {
		more := strconv.Itoa(len(paths) - few)
		paths = append(paths[:few], more+" more")
	}
	return strings.Join(paths, ", ")
}

func leaves(paths []string, at string, set fields) []string {
	for element, sub := range set {
		kind, rest, _ := strings.Cut(element, ":")
		path := at
		switch kind {
		case "f":
			path += "." + rest
		case "k", "v", "i":
			path += "[" + rest + "]"
		default:
			continue
		}
		if sub, ok := sub.(fields); ok && hasChildren(sub) {
			paths = leaves(paths, path, sub)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}
