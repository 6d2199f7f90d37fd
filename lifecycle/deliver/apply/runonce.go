package apply

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// nameKept is how much of its own name a Job keeps that runs once: with what is
// added, and with the index of a pod, it has to fit the 63 characters of a label.
const nameKept = 40

// onceName is the name of a Job that runs once: its own, and 40 bits of the
// SHA-256 of its manifest.
var onceName = regexp.MustCompile(`^.+-once-[0-9a-f]{10}$`)

// isOnce says whether an object is a Job that runs once. The name tells, also
// when the Job itself is long gone.
func isOnce(o receipt.Object) bool {
	return o.Group == "batch" && o.Kind == "Job" && onceName.MatchString(o.Name)
}

// applicable returns the objects as they are applied: Jobs that run once have
// their name by content, and Secrets all their values in data.
func applicable(objects []lifecycle.Object) ([]lifecycle.Object, []error) {
	var problems []error
	objects = slices.Clone(objects)
	for i := range objects {
		if err := errors.Join(unserved(objects[i]), textAsData(&objects[i]), nameOnce(&objects[i])); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", nameOf(objects[i]), err))
		}
	}
	return objects, problems
}

// unserved refuses a manifest that says itself which object or version it may be
// written to, as a copy of what a server holds does: whose an object is that is
// there already is not for the manifest to say.
func unserved(o lifecycle.Object) error {
	if !bytes.Contains(o.JSON, []byte(`"uid"`)) && !bytes.Contains(o.JSON, []byte(`"resourceVersion"`)) {
		return nil
	}
	m, err := readManifest(o.JSON)
	if err != nil {
		return nil // what has no metadata is refused for that
	}
	var errs []error
	for _, field := range m.served {
		errs = append(errs, fmt.Errorf("metadata.%s is for the server to set: leave it out", field))
	}
	return errors.Join(errs...)
}

func nameOf(o lifecycle.Object) string {
	return lifecycle.ObjectName(receipt.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
}

func nameOnce(o *lifecycle.Object) error {
	value, ok, err := objectjson.Annotation(o.JSON, keys.RunOnce)
	if err != nil {
		return err
	}
	switch {
	case !ok || value == "false":
		return nil
	case value != "true":
		return fmt.Errorf(`the annotation %s is %q, and must be "true" or "false"`, keys.RunOnce, value)
	case o.Group != "batch" || o.Kind != "Job":
		return fmt.Errorf("the annotation %s is for Jobs alone: nothing else ends by itself", keys.RunOnce)
	case o.Name == "":
		return nil // which is refused for all objects
	}
	m, err := readManifest(o.JSON)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(o.JSON)
	// No name has a hyphen right behind a dot.
	o.Name = strings.TrimRight(o.Name[:min(len(o.Name), nameKept)], ".") + "-once-" + hex.EncodeToString(sum[:5])
	o.JSON = m.named(o.Name)
	return nil
}

// completed says whether a Job, as the target holds it, has completed.
func completed(held object) bool {
	c, ok := condition(held, "Complete")
	return ok && c.status == "True"
}

// ranToTheEnd says whether the target still remembers that a Job completed which
// is not there any more: its controller has said so in an event. It is what
// remains when a Job is removed soon after its end, and whoever waited for it
// was killed before that was recorded. Where events may not be read, nothing
// remains.
func (d *Deliverer) ranToTheEnd(ctx context.Context, o receipt.Object) bool {
	var list corev1.EventList
	err := d.read(ctx, collection{"", "v1", "Event", "events", o.Namespace}, url.Values{"fieldSelector": {
		"involvedObject.kind=Job,involvedObject.name=" + o.Name + ",reason=Completed"}}, &list)
	return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeNormal && (e.Source.Component == jobController || e.ReportingController == jobController)
	})
}

const jobController = "job-controller"

func contains(list []receipt.Object, o receipt.Object) bool {
	return slices.ContainsFunc(list, func(l receipt.Object) bool { return keyOf(l) == keyOf(o) })
}
