package portforward

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	subprotocol "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

func (d *Dialer) dialSPDY(ctx context.Context, address *url.URL) (net.Conn, error) {
	tlsConfig, err := rest.TLSConfigFor(d.config)
	if err != nil {
		return nil, err
	}
	dialer, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{TLS: tlsConfig, Proxier: d.config.Proxy})
	if err != nil {
		return nil, err
	}
	upgrade := &spdyUpgrade{dialer: dialer}
	rt, err := rest.HTTPWrappersForConfig(d.config, upgrade)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(httpstream.HeaderProtocolVersion, subprotocol.PortForwardV1Name)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return upgrade.conn, resp.Body.Close()
}

// spdyUpgrade makes one request and keeps its connection. client-go's own waits for the answer without end.
type spdyUpgrade struct {
	dialer *spdy.SpdyRoundTripper
	conn   net.Conn
}

// RoundTrip implements http.RoundTripper.
func (u *spdyUpgrade) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	req = req.Clone(ctx)
	req.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	req.Header.Set(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	conn, err := u.dialer.Dial(req)
	if err != nil {
		return nil, err
	}
	boundBuffer(conn)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err == nil {
		err = upgraded(resp)
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	u.conn = conn
	return resp, nil
}

// longestRefusal bounds how much is read of an answer that is no upgrade.
const longestRefusal = 64 << 10

func upgraded(resp *http.Response) error {
	has := func(header, word string) bool {
		return strings.Contains(strings.ToLower(resp.Header.Get(header)), strings.ToLower(word))
	}
	if resp.StatusCode == http.StatusSwitchingProtocols && has(httpstream.HeaderConnection, httpstream.HeaderUpgrade) &&
		has(httpstream.HeaderUpgrade, spdy.HeaderSpdy31) {
		return nil
	}
	return refusal(resp)
}

// refusal reads an answer that is no upgrade.
func refusal(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestRefusal))
	_ = resp.Body.Close()
	cause := errors.New(resp.Status)
	var status metav1.Status
	switch {
	case err != nil:
	case json.Unmarshal(body, &status) == nil && status.Kind == "Status":
		cause = &apierrors.StatusError{ErrStatus: status}
	case len(body) > 0:
		cause = fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return &refusedError{&httpstream.UpgradeFailureError{Cause: cause}}
}
