package job

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// The exit codes of inputs.sh. With any other, something failed in the pod itself.
const (
	inputsNotFetched = 69
	inputsDiffer     = 65
	inputsNotWritten = 73
)

var (
	noSpace     = lazyregexp.New(`(?m)^.*(No space left on device|Disk quota exceeded).*$`)
	redirected  = lazyregexp.New(`error: 30[12378]`)
	invalidPath = lazyregexp.New(`(?m)^error: invalid path .*$`)
)

// inputsFailed is about the container that fetches the inputs.
func inputsFailed(ended *corev1.ContainerStateTerminated) outcome {
	said := ended.Message
	o := outcome{state: broken, message: said}
	full := noSpace.FindString(said)
	switch {
	case full != "":
		o.reason = "there is no room for its inputs: " + strings.TrimSpace(full)
		o.advice = "The inputs lie on the node's own disk while a Job runs: make room on it, or have Jobs run on nodes that have some (nodeSelector)."
	case ended.ExitCode == inputsNotFetched:
		o.reason, o.unreachable = "its inputs could not be fetched from the Git server: "+lastLine(said), true
		o.advice = "Check that pods can reach the Git server by the address in the target's git.url, and what it asks them for."
		if redirected.MatchString(said) {
			o.advice = "The Git server redirects to another address, which is not followed: credentials could end up there. Write the address that it redirects to in git.url of the target."
		}
	case ended.ExitCode == inputsDiffer:
		o.reason = lastLine(said)
		o.advice = "See that git.push and git.url of the target are the same repository, and who else writes to refs/pharos in it."
	case ended.ExitCode == inputsNotWritten:
		o.reason = "the files of its inputs could not be written: " + lastLine(said)
		o.advice = "See whether the node's disk is full, which Git does not always say: the inputs lie there while a Job runs."
		if invalid := invalidPath.FindString(said); invalid != "" {
			o.reason = "the files of its inputs could not be written: " + strings.TrimSpace(invalid)
			o.advice = "Git makes no file of that name: rename it, or leave it out of the inputs."
		}
	default:
		o.reason = "its inputs could not be fetched: " + endOf(ended)
	}
	return withCause(o, ended)
}
