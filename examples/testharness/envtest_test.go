package testharness

import (
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

// A suite as kubebuilder lays it out: envtest starts an API server for all of it, or
// connects to one, and each spec has a namespace of its own.
func TestEnvtest(t *testing.T) {
	existing := true
	env = &envtest.Environment{UseExistingCluster: &existing, Config: cluster(t)}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "envtest")
}

var (
	env  *envtest.Environment
	kube client.Client
)

var _ = ginkgo.BeforeSuite(func() {
	config, err := env.Start()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() { gomega.Expect(env.Stop()).To(gomega.Succeed()) })
	kube, err = client.New(config, client.Options{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
})

var _ = ginkgo.Describe("the shop", func() {
	for _, price := range []string{"9", "11"} {
		ginkgo.It("has a price of "+price, func(ctx ginkgo.SpecContext) {
			ns := ephemeral.Namespace(ginkgo.GinkgoT(), env.Config, ephemeral.Options{})

			shop := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Data: map[string]string{"price": price}}
			gomega.Expect(kube.Create(ctx, shop)).To(gomega.Succeed())
			gomega.Expect(kube.Get(ctx, client.ObjectKeyFromObject(shop), shop)).To(gomega.Succeed())
			gomega.Expect(shop.Data).To(gomega.HaveKeyWithValue("price", price))
		})
	}
})
