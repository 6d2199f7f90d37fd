package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pharos-dev/pharos/lifecycle"
)

// printObjects writes objects in their order: as documents of YAML, in which no
// one needs a list, else in a List, as kubectl does.
func (o *renderOptions) printObjects(objects []lifecycle.Object) error {
	if o.output.human() {
		*o.output.flags.OutputFormat = "yaml"
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range objects {
		var u unstructured.Unstructured
		if err := u.UnmarshalJSON(object.JSON); err != nil {
			return fmt.Errorf("%s %s: %w", object.Kind, object.Name, err)
		}
		list.Items = append(list.Items, u)
	}
	if o.output.format() != "yaml" {
		return o.output.printObject(o.Out, list)
	}
	p, err := o.output.flags.ToPrinter()
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := p.PrintObj(&list.Items[i], o.Out); err != nil {
			return err
		}
	}
	return nil
}
