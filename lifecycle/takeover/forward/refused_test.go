package forward_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pharos-dev/pharos/lifecycle/takeover/forward"
)

func TestServicesThatCannotBeForwarded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "outside", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.org"})
	s.service(t, "empty", db())
	s.service(t, "names", corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}}})
	s.service(t, "machine", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 5432}}})
	number, none := int32(5432), ""
	_, err := s.client.DiscoveryV1().EndpointSlices(s.namespace).Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "machine-1", Labels: map[string]string{discoveryv1.LabelServiceName: "machine"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &none, Port: &number}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		service string
		port    intstr.IntOrString
		want    string
	}{
		{"outside", intstr.FromInt32(80), "db.example.org"},
		{"empty", intstr.FromInt32(80), "no ready pod"},
		{"empty", intstr.FromString("metrics"), "80 (main), 81 (admin)"},
		{"names", intstr.FromInt32(53), "only TCP"},
		{"machine", intstr.FromInt32(5432), "no pods"},
		{"missing", intstr.FromInt32(80), "not found"},
	} {
		t.Run(tc.service+tc.port.String(), func(t *testing.T) {
			t.Parallel()
			r := s.start(t, forward.Forward{Service: tc.service, Port: tc.port})
			state := r.await(t, func(s forward.Status) bool { return s.Err != nil })
			if !strings.Contains(state.Err.Error(), tc.want) {
				t.Errorf("%v", state.Err)
			}
		})
	}
}

// Why a forward does not work is told, and also when that has become another reason.
func TestReasonsAreTold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	told := func(part string) {
		t.Helper()
		for late := time.After(patience); ; {
			select {
			case all := <-r.states:
				if err := all[0].Err; err != nil && strings.Contains(err.Error(), part) {
					return
				}
			case <-late:
				t.Fatalf("%q is not told; the state is %+v", part, r.State())
			}
		}
	}
	told("not found")
	s.service(t, "db", db())
	told("has no ready pod for port 80")
}
