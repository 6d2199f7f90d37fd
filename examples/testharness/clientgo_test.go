package testharness

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

// Tests that run in parallel, each in a namespace of its own.
func TestClientGo(t *testing.T) {
	t.Parallel()
	for _, price := range []string{"9", "11"} {
		t.Run("price of "+price, func(t *testing.T) {
			t.Parallel()
			config := cluster(t)
			ns := ephemeral.Namespace(t, config, ephemeral.Options{})

			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			settings := client.CoreV1().ConfigMaps(ns)
			shop := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Data: map[string]string{"price": price}}
			if _, err := settings.Create(t.Context(), shop, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			got, err := settings.Get(t.Context(), "shop", metav1.GetOptions{})
			if err != nil || got.Data["price"] != price {
				t.Errorf("the shop's price is %q, want %s: %v", got.Data["price"], price, err)
			}
		})
	}
}
