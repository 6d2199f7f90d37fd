package argo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// SettingsName is the ConfigMap in which Argo CD has its settings.
const SettingsName = "argocd-cm"

// Settings reads the settings of the Argo CD in a namespace, as Application does.
func (c *Client) Settings(ctx context.Context, namespace string) (map[string]string, error) {
	if err := checkNames(namespace); err != nil {
		return nil, err
	}
	var settings struct {
		Data map[string]string `json:"data"`
	}
	err := kubeclient.Retry(ctx, func() error {
		data, err := answer(c.rest.Get().AbsPath("/api/v1/namespaces", namespace, "configmaps", SettingsName).
			SetHeader("Accept", "application/json").MaxRetries(0).Do(ctx))
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &settings)
	})
	if err != nil {
		return nil, fmt.Errorf("read the ConfigMap %s/%s: %w", namespace, SettingsName, err)
	}
	return settings.Data, nil
}
