package environment

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// linkParts are what follows a Service's name in the variables that the kubelet
// makes of it.
var linkParts = lazyregexp.New(`^(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)$`)

// linkServices returns the names of the Services that a variable of that name may
// be a link to.
func linkServices(variable string) []string {
	var names []string
	for i, r := range variable {
		if r != '_' || i == 0 || !linkParts.MatchString(variable[i+1:]) {
			continue
		}
		service := variable[:i]
		if service != strings.ToUpper(service) || strings.HasSuffix(service, "_") || strings.HasPrefix(service, "_") {
			continue
		}
		names = append(names, strings.ToLower(strings.ReplaceAll(service, "_", "-")))
	}
	return names
}

// link returns the value of a variable that the kubelet makes of a Service, as
// k8s.io/kubernetes/pkg/kubelet/envvars has them.
func (c *container) link(ctx context.Context, variable string) (found value, ok bool, err error) {
	for _, name := range linkServices(variable) {
		namespace := c.Namespace
		if name == "kubernetes" {
			namespace = corev1.NamespaceDefault
		} else if enabled := c.Pod.Spec.EnableServiceLinks; enabled != nil && !*enabled {
			continue
		}
		service, err := c.sources.service(ctx, namespace, name)
		if err != nil {
			return value{}, false, err
		}
		if service == nil || service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
			continue
		}
		if text, ok := linksOf(service)[variable]; ok {
			return value{text: text, from: fmt.Sprintf("Service %s/%s", namespace, name)}, true, nil
		}
	}
	return value{}, false, nil
}

// linksOf returns all variables that the kubelet makes of a Service.
func linksOf(s *corev1.Service) map[string]string {
	prefix := strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
	links := map[string]string{prefix + "_SERVICE_HOST": s.Spec.ClusterIP}
	for i, p := range slices.Backward(s.Spec.Ports) { // the first of several counts
		port := strconv.Itoa(int(p.Port))
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		lower := strings.ToLower(string(protocol))
		address := lower + "://" + net.JoinHostPort(s.Spec.ClusterIP, port)
		if i == 0 {
			links[prefix+"_SERVICE_PORT"], links[prefix+"_PORT"] = port, address
		}
		if p.Name != "" {
			links[prefix+"_SERVICE_PORT_"+strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))] = port
		}
		at := prefix + "_PORT_" + port + "_" + strings.ToUpper(string(protocol))
		links[at], links[at+"_PROTO"], links[at+"_PORT"], links[at+"_ADDR"] = address, lower, port, s.Spec.ClusterIP
	}
	return links
}
