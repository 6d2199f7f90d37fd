package policy

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// intentKeys are the annotations whose updates are looked at, beside the intent.
var intentKeys = []string{keys.TTL, keys.ExpiresAt, keys.LastActive, keys.Grace, keys.OnExpiry, keys.Owner}

// text is a string in CEL. None of ours has anything to escape.
func text(s string) string { return "'" + s + "'" }

// conditions choose what is looked at.
func conditions() []admissionv1.MatchCondition {
	var list []string
	for _, key := range intentKeys {
		list = append(list, text(key))
	}
	return []admissionv1.MatchCondition{
		{Name: "it-ends-with-no-owner", Expression: "object.metadata.?ownerReferences.orValue([]).size() == 0"},
		{Name: "it-is-not-of-the-namespace-itself", Expression: "!(object.kind == 'ConfigMap' && object.metadata.name == 'kube-root-ca.crt')" +
			" && !(object.kind == 'ServiceAccount' && object.metadata.name == 'default')"},
		{Name: "its-intent-is-new", Expression: "request.operation == 'CREATE'" +
			" || object.metadata.?labels[?" + text(keys.Intent) + "] != oldObject.metadata.?labels[?" + text(keys.Intent) + "]" +
			" || [" + strings.Join(list, ", ") + "].exists(k, object.metadata.?annotations[?k] != oldObject.metadata.?annotations[?k])"},
	}
}

// variables are what the validations speak of. Those of what is not there are "none",
// which is neither a duration nor a time, and -1.
func variables() []admissionv1.Variable {
	v := []admissionv1.Variable{
		{Name: "intent", Expression: "object.metadata.?labels[?" + text(keys.Intent) + "].orValue('')"},
		{Name: "keeps", Expression: "request.operation == 'UPDATE' && variables.intent == " + text(string(reaper.Retained))},
	}
	for _, is := range []struct{ name, key string }{{"ttl", keys.TTL}, {"grace", keys.Grace}} {
		in := "variables." + is.name
		sum := make([]string, 0, 5)
		for _, unit := range []struct {
			letter  string
			seconds int
		}{{"w", 604800}, {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}} {
			sum = append(sum, fmt.Sprintf("int('0' + %s.find('[0-9]+%s').replace('%s', '')) * %d", in, unit.letter, unit.letter, unit.seconds))
		}
		v = append(v,
			admissionv1.Variable{Name: is.name, Expression: "object.metadata.?annotations[?" + text(is.key) + "].orValue('none')"},
			// A value of 50 characters is the longest that has the form.
			admissionv1.Variable{Name: is.name + "Seconds", Expression: fmt.Sprintf("%s.size() > 50 || !%s.matches(%s) ? -1 : %s", in, in, text(reaper.DurationPattern), strings.Join(sum, " + "))},
			admissionv1.Variable{Name: is.name + "IsNone", Expression: "object.metadata.?annotations[?" + text(is.key) + "] == optional.none()"},
		)
	}
	for _, is := range []struct{ name, key string }{{"expiresAt", keys.ExpiresAt}, {"lastActive", keys.LastActive}} {
		in := "variables." + is.name
		v = append(v,
			admissionv1.Variable{Name: is.name, Expression: "object.metadata.?annotations[?" + text(is.key) + "].orValue('none')"},
			admissionv1.Variable{Name: is.name + "IsNone", Expression: "object.metadata.?annotations[?" + text(is.key) + "] == optional.none()"},
			admissionv1.Variable{Name: is.name + "IsTime", Expression: fmt.Sprintf("%s.size() <= 40 && %s.matches(%s)"+
				" && timestamp(%s) >= timestamp('2000-01-01T00:00:00Z') && timestamp(%s) < timestamp('9900-01-01T00:00:00Z')",
				in, in, text(reaper.TimePattern), in, in)},
		)
	}
	return v
}

// validations are the rules, each with what to do.
func validations(t reaper.Tier) []admissionv1.Validation {
	longest := seconds(reaper.MaxDuration)
	rule := func(message, expression string) admissionv1.Validation {
		return admissionv1.Validation{Expression: "variables.keeps || " + expression, Message: message}
	}
	parts := func(key, name string) admissionv1.Validation {
		return rule(fmt.Sprintf("the annotation %s is no duration: want one such as 90s, 36h, 7d or 1d12h, of at most %s", key, reaper.FormatDuration(reaper.MaxDuration)),
			fmt.Sprintf("variables.%sIsNone || (variables.%sSeconds >= 0 && variables.%sSeconds <= %d)", name, name, name, longest))
	}
	within := fmt.Sprintf("the tier %s keeps things for at most %s, with their grace", t.Name, reaper.FormatDuration(t.MaxTTL))
	grace := "(variables.graceIsNone ? 0 : variables.graceSeconds)"
	return []admissionv1.Validation{
		rule(fmt.Sprintf("the label %s has to be %s, which says that it ends", keys.Intent, reaper.Transient), "variables.intent == "+text(string(reaper.Transient))),
		rule(fmt.Sprintf("the annotation %s has to say whom to ask about it", keys.Owner), "object.metadata.?annotations[?"+text(keys.Owner)+"].orValue('') != ''"),
		rule(fmt.Sprintf("the annotation %s or %s has to say when it ends", keys.TTL, keys.ExpiresAt), "!variables.ttlIsNone || !variables.expiresAtIsNone"),
		parts(keys.TTL, "ttl"),
		parts(keys.Grace, "grace"),
		rule(fmt.Sprintf("the annotation %s is no time: want one such as 2026-03-04T05:06:07Z (RFC 3339 with a zone)", keys.ExpiresAt), "variables.expiresAtIsNone || variables.expiresAtIsTime"),
		rule(fmt.Sprintf("the annotation %s is no time: want one such as 2026-03-04T05:06:07Z (RFC 3339 with a zone)", keys.LastActive), "variables.lastActiveIsNone || variables.lastActiveIsTime"),
		rule(fmt.Sprintf("the annotation %s is not known, nothing else than to be deleted can become of it", keys.OnExpiry), "object.metadata.?annotations[?"+text(keys.OnExpiry)+"] == optional.none()"),
		rule(within, fmt.Sprintf("variables.ttlIsNone || variables.ttlSeconds + %s <= %d", grace, seconds(t.MaxTTL))),
		rule(within+", from now on", fmt.Sprintf("request.operation != 'CREATE' || variables.expiresAtIsNone || !variables.expiresAtIsTime"+
			" || timestamp(variables.expiresAt) + duration(string(%s) + 's') <= timestamp(object.metadata.creationTimestamp) + duration('%ds')", grace, seconds(t.MaxTTL))),
		rule("nothing is created that was active later than now", "request.operation != 'CREATE' || variables.lastActiveIsNone || !variables.lastActiveIsTime"+
			" || timestamp(variables.lastActive) <= timestamp(object.metadata.creationTimestamp) + duration('60s')"),
	}
}
