package divert

import (
	"strings"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// admissionAdvice is what to do about a refusal that says no more of itself.
const admissionAdvice = "What is in the way is an admission webhook or a policy of the cluster."

// webhookAdvice is what to do about an admission webhook that could not be asked; empty
// for every other error. The API server has no reason of its own for either.
func webhookAdvice(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "does not support dry run"):
		return "Nothing can be tried while a webhook may have side effects: if it has none, let it say so (sideEffects: None, or NoneOnDryRun)."
	case strings.Contains(text, "failed calling webhook"):
		return "An admission webhook of the cluster does not answer: have it mended, or wait for it. Nothing can be written without it (failurePolicy: Fail)."
	}
	return ""
}

// refusalAdvice is what to do about what admission does not accept.
func refusalAdvice(err error, namespace string) string {
	switch text := err.Error(); {
	case webhookAdvice(err) != "":
		return webhookAdvice(err)
	case strings.Contains(text, "failed quota: "):
		return kubeclient.ForbiddenAdvice(err, namespace, "")
	}
	return admissionAdvice
}
