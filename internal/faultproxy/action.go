package faultproxy

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Action is what happens to a request that meets a fault. It reports whether the request goes on afterwards.
type Action func(f *Fault, w http.ResponseWriter, r *http.Request) (goOn bool)

// Answer answers with the status, such as http.StatusConflict, and a body as an API server would send it (a Status
// object). Registry clients go by the status alone.
func Answer(code int) Action {
	return func(_ *Fault, w http.ResponseWriter, r *http.Request) bool {
		answer(w, r, code, 0)
		return false
	}
}

// TooManyRequests answers 429 with a Retry-After of the given time, in whole seconds; at zero, clients of the API server
// try again at once.
func TooManyRequests(retryAfter time.Duration) Action {
	seconds := int(retryAfter / time.Second)
	return func(_ *Fault, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		answer(w, r, http.StatusTooManyRequests, seconds)
		return false
	}
}

// Stall gives no answer until the client goes away, [Fault.Release] lets the request go on, or the proxy is closed.
func Stall() Action {
	return func(f *Fault, w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-f.release:
			return true
		case <-r.Context().Done():
			// A handler that returns answers 200, which a client that is just going away may still read.
			cut(w)
			return false
		}
	}
}

// Cut breaks the client's connection.
func Cut() Action {
	return func(_ *Fault, w http.ResponseWriter, _ *http.Request) bool {
		cut(w)
		return false
	}
}

func answer(w http.ResponseWriter, r *http.Request, code, retryAfter int) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     int32(code),
		Reason:   reasons[code],
		Message:  fmt.Sprintf("%s %s: a test wants this to fail: %s", r.Method, r.URL.Path, http.StatusText(code)),
	}
	if retryAfter > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A client that is gone is no concern of the proxy.
	_ = json.NewEncoder(w).Encode(status)
}

// reasons are the API server's words for a status.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// cut closes the connection below TLS, so that the client sees it break and not end.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	_ = conn.Close()
}
