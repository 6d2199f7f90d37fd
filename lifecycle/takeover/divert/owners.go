package divert

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pharos-dev/pharos/internal/keys"
)

// fields is a set of fields as metadata.managedFields holds it in fieldsV1.
type fields = map[string]any

// entry is one of metadata.managedFields.
type entry map[string]any

func (e entry) text(field string) string { s, _ := e[field].(string); return s }

// is says whether both are of the same manager.
func (e entry) is(other entry) bool {
	for _, field := range []string{"manager", "operation", "subresource", "apiVersion"} {
		if e.text(field) != other.text(field) {
			return false
		}
	}
	return true
}

// ours says whether it is that of what a takeover replaces.
func (e entry) ours() bool {
	return e.text("manager") == keys.TakeoverManager && e.text("operation") == "Update" && e.text("subresource") == ""
}

func (e entry) fields() fields { f, _ := e["fieldsV1"].(fields); return f }

// entries reads metadata.managedFields. What is not of its form owns nothing.
func (d deployment) entries() (list []entry) {
	all, _ := child(d.raw, "metadata", "managedFields").([]any)
	for _, e := range all {
		e, _ := e.(map[string]any)
		list = append(list, e)
	}
	return list
}

// copyOfEntries is entries, to be changed.
func (d deployment) copyOfEntries() (list []entry) {
	for _, e := range d.entries() {
		list = append(list, runtime.DeepCopyJSON(e))
	}
	return list
}

// elements are those of the path of a container's field in fieldsV1.
func elements(container, field string) []string {
	key, err := json.Marshal(map[string]string{"name": container})
	if err != nil {
		return nil // a text can be written always
	}
	path := []string{"f:spec", "f:template", "f:spec", "f:containers", "k:" + string(key)}
	for name := range strings.SplitSeq(strings.TrimPrefix(field, "/"), "/") {
		path = append(path, "f:"+name)
	}
	return path
}

// owns says whether a set has the field at the path.
func owns(set fields, path []string) bool {
	for _, element := range path {
		sub, ok := set[element].(fields)
		if !ok {
			return false
		}
		set = sub
	}
	return true
}

// deliverers begin the names of the managers that bring what Git declares, or who
// stand for a person.
var deliverers = []string{keys.Manager, "argocd", "kubectl", "before-first-apply", "helm"}

// owners refuses what somebody else than who delivers it writes: that would be undone
// at once, or never.
func (p *plan) owners(values []Value) {
	foreign := map[string][]string{}
	for _, e := range p.live.entries() {
		manager := e.text("manager")
		if slices.ContainsFunc(deliverers, func(known string) bool { return strings.HasPrefix(manager, known) }) {
			continue
		}
		for _, v := range values {
			if owns(e.fields(), elements(p.Container, v.Field)) {
				foreign[manager] = append(foreign[manager], v.Field)
			}
		}
	}
	for _, manager := range slices.Sorted(maps.Keys(foreign)) {
		slices.Sort(foreign[manager])
		p.refuse("Stop what writes them, and deliver: kubectl pharos reconcile",
			"%s of container %q are written by %q, too, which would write them again", strings.Join(slices.Compact(foreign[manager]), ", "), p.Container, manager)
	}
}

// disown is the patch that gives the fields of a diversion back to whoever owned them:
// a write takes them from everybody else, so that the next delivery that applies
// another image would be in conflict with the takeover. Nil if there is nothing to
// give back.
func disown(o deployment, d Diversion) ([]byte, error) {
	now, err := disowned(o, d)
	if err != nil {
		return nil, err
	}
	ops := changes(o.entries(), now)
	if len(ops) == 0 {
		return nil, nil
	}
	return json.Marshal(append([]operation{test("/metadata/uid", d.UID)}, ops...))
}

// disowned are the entries as disown has them: those that there are in the same order,
// also where nothing is left of one, and then those that come back.
func disowned(o deployment, d Diversion) ([]entry, error) {
	was, err := parse("as it was", d.Original)
	if err != nil {
		return nil, err
	}
	now := o.copyOfEntries()
	index, _ := o.container(d.Container)
	for _, v := range d.Values {
		path := elements(d.Container, v.Field)
		i := slices.IndexFunc(now, func(e entry) bool { return e.ours() && owns(e.fields(), path) })
		if i < 0 {
			continue
		}
		remove(now[i].fields(), path)
		if live, ok := o.value(index, v.Field); !ok || !same(live, v.Original) {
			continue // it is somebody else's now
		}
		for _, owner := range was.entries() {
			if !owner.ours() && owns(owner.fields(), path) {
				now = give(now, owner, path)
			}
		}
	}
	return now, nil
}

// changes are the operations that make the entries what they are to be, under the
// condition that those that change are what was read. The others may change at any
// time: that of a status does so all the while. From the last to the first, since those
// behind one that is removed move.
func changes(before, now []entry) (ops []operation) {
	for i := len(before) - 1; i >= 0; i-- {
		path := fmt.Sprintf("/metadata/managedFields/%d", i)
		switch {
		case reflect.DeepEqual(before[i], now[i]):
		case now[i].ours() && len(now[i].fields()) == 0:
			ops = append(ops, test(path, before[i]), operation{Op: "remove", Path: path})
		default:
			ops = append(ops, test(path, before[i]), replace(path, now[i]))
		}
	}
	for _, e := range now[len(before):] {
		ops = append(ops, operation{"add", "/metadata/managedFields/-", e})
	}
	return ops
}

// remove takes a field out of a set, and what is then empty.
func remove(set fields, path []string) {
	sub, ok := set[path[0]].(fields)
	if !ok {
		return
	}
	if len(path) > 1 {
		remove(sub, path[1:])
	}
	if len(path) == 1 || len(sub) == 0 {
		delete(set, path[0])
	}
}

// give adds a field of an owner's to the entry that it has now.
func give(list []entry, owner entry, path []string) []entry {
	i := slices.IndexFunc(list, owner.is)
	if i < 0 {
		list, i = append(list, maps.Clone(owner)), len(list)
		list[i]["fieldsV1"] = fields{}
	}
	if list[i].fields() == nil {
		list[i]["fieldsV1"] = fields{}
	}
	set, from := list[i].fields(), owner.fields()
	for n, element := range path {
		sub, ok := set[element].(fields)
		if !ok {
			sub = fields{}
			set[element] = sub
		}
		from, _ = from[element].(fields)
		if _, whole := from["."]; whole && n < len(path)-1 {
			sub["."] = fields{}
		}
		set = sub
	}
	return list
}
