package argo

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Try asks by a dry run what a patch would make of an Application, and changes
// nothing. It returns the whole object as JSON, before and after. Who may not
// patch may not try.
func (c *Client) Try(ctx context.Context, a *Application, manager string, ops []Op) (before, after []byte, err error) {
	m := a.Metadata
	if before, err = c.get(ctx, m.Namespace, "applications", m.Name); err != nil || len(ops) == 0 {
		return before, before, err
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, nil, err
	}
	after, err = answer(c.rest.Patch(types.JSONPatchType).Namespace(m.Namespace).Resource("applications").Name(m.Name).
		Param("dryRun", metav1.DryRunAll).Param("fieldManager", manager).Param("fieldValidation", "Strict").Body(body).MaxRetries(0).Do(ctx))
	return before, after, err
}
