package argo

import (
	"fmt"
	"slices"
	"strings"
)

// Failure is a resource that was refused, or a hook that failed.
type Failure struct {
	Resource
	Phase   string // of the sync: "PreSync"; empty if that is not known
	Message string
}

// String is how messages name a failure: "phase Sync, Service shop/api: port is
// wrong".
func (f Failure) String() string {
	where := f.Resource.String()
	if f.Phase != "" {
		where = "phase " + f.Phase + ", " + where
	}
	return where + ": " + brief(f.Message)
}

// ForbiddenByProject says whether the AppProject does not allow the resource.
func (f Failure) ForbiddenByProject() bool {
	return strings.Contains(f.Message, "is not permitted in project")
}

// passing stand in what may be otherwise the next time, although the rest of the
// message reads as if it would not.
var passing = []string{
	"failed calling webhook", "failed to call webhook", // it is down
	"already allocated", // a port or an address that is being given back
	"object has been modified",
	"being deleted", "being terminated",
	"exceeded quota",
}

// final stand in what the API server or Argo CD says again, as long as the
// manifest and the project are the same: the words of apimachinery's errors, of
// admission, and of Argo CD's own checks.
var final = []string{
	"is not permitted in project",
	" is invalid: ", "field is immutable", "is immutable after creation",
	"strict decoding error", "field not declared in schema",
	"denied the request", "denied request", // by a webhook, by a policy
	"violates PodSecurity",
	"error validating options", // contradicting sync options
}

// Final says whether trying again brings the same. Neither Argo CD nor what it
// keeps of the API server's answers has types for that, only words; what they do
// not tell for sure is not final. A hook that failed is not: what it does may
// succeed later.
func (f Failure) Final() bool {
	has := func(word string) bool { return strings.Contains(f.Message, word) }
	return !slices.ContainsFunc(passing, has) && slices.ContainsFunc(final, has)
}

// Retrying says whether an operation has failed and waits to be tried again.
func Retrying(s *OperationState) bool {
	return s != nil && s.Phase == "Running" && !s.FinishedAt.IsZero()
}

// failures finds the resources that made an operation fail, or that fail while it
// is tried again.
func failures(s *OperationState) []Failure {
	if s.SyncResult == nil {
		return nil
	}
	var list []Failure
	for _, res := range s.SyncResult.Resources {
		if res.Status != "SyncFailed" && res.HookPhase != "Failed" && res.HookPhase != "Error" {
			continue
		}
		f := Failure{Resource: res.Resource, Phase: res.SyncPhase, Message: res.Message}
		if f.Phase == "" {
			f.Phase = res.HookType
		}
		if f.Message == "" {
			f.Message = orElse(res.HookPhase, res.Status)
		}
		list = append(list, f)
	}
	return list
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// sets takes what failed, and names the first.
func (v *Verdict) sets(list []Failure) {
	v.Failures = list
	if len(list) > 0 {
		v.Resource, v.Phase = list[0].Resource, list[0].Phase
	}
}

func all(list []Failure) string {
	const shown = 3
	var texts []string
	for _, f := range list[:min(len(list), shown)] {
		texts = append(texts, f.String())
	}
	text := strings.Join(texts, "; ")
	if n := len(list) - len(texts); n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// brief shortens a message that holds a whole object, as those on immutable
// fields do: what is wrong stands at its ends.
func brief(message string) string {
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "?")), " ")
	const head, tail = 400, 200
	if len(message) <= head+tail {
		return message
	}
	return strings.ToValidUTF8(message[:head], "") + " … " + strings.ToValidUTF8(message[len(message)-tail:], "")
}
