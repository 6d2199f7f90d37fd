package testharness

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

// A controller runs beside the test, and sees the test's namespace only.
func TestControllerRuntime(t *testing.T) {
	t.Parallel()
	config := cluster(t)
	ns := ephemeral.Namespace(t, config, ephemeral.Options{})
	c := startController(t, config, ns)

	shop := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Data: map[string]string{"price": "9"}}
	if err := c.Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(shop), shop)
		return shop.Data["open"] == "yes", err
	})
	if err != nil {
		t.Errorf("the controller did not open the shop: %v", err)
	}
}

// startController starts a manager that ends before the namespace does, since its
// cleanup is registered later.
func startController(t *testing.T, config *rest.Config, namespace string) client.Client {
	t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	opener := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		var shop corev1.ConfigMap
		if err := mgr.GetClient().Get(ctx, r.NamespacedName, &shop); err != nil || shop.Data["price"] == "" || shop.Data["open"] != "" {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		shop.Data["open"] = "yes"
		return reconcile.Result{}, mgr.GetClient().Update(ctx, &shop)
	})
	if err := ctrl.NewControllerManagedBy(mgr).Named(t.Name()).For(&corev1.ConfigMap{}).Complete(opener); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager: %v", err)
		}
	})
	return mgr.GetClient()
}
