package job

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// A log of which each connection brings some more comes as whole, even if its container
// ended long ago and each connection breaks; so does one whose every line came within the
// same second.
func TestFollowLogThatBreaksAgainAndAgain(t *testing.T) {
	t.Parallel()
	log, want := "", ""
	for i := range 60 {
		log += stamped(100+i, fmt.Sprint("this is line ", i))
		want += fmt.Sprintln("this is line", i)
	}
	var connections atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest := from(log, r.URL.Query().Get("sinceTime"))
		end := 500 * int(connections.Add(1))
		if end >= len(rest) {
			_, _ = w.Write([]byte(rest))
			return
		}
		_, _ = w.Write([]byte(rest[:end]))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	api, err := newAPI(&rest.Config{Host: server.URL}, "default", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	close(ended)
	var copied strings.Builder
	if err := (&Backend{api: api}).followLog(t.Context(), "pod", ended, &copied); err != nil {
		t.Errorf("after %d connections: %v", connections.Load(), err)
	}
	if copied.String() != want {
		t.Errorf("copied\n%s", copied.String())
	}
	if n := connections.Load(); n < logTries+2 {
		t.Errorf("there were %d connections only", n)
	}
}

// A log of which nothing more comes is given up.
func TestFollowLogThatStands(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connections.Add(1)
		_, _ = w.Write([]byte(stamped(100, "a") + "2026"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	api, err := newAPI(&rest.Config{Host: server.URL}, "default", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	close(ended)
	var copied strings.Builder
	if err := (&Backend{api: api}).followLog(t.Context(), "pod", ended, &copied); err == nil {
		t.Error("there is no error")
	}
	if copied.String() != "a\n" || connections.Load() != 1+logTries {
		t.Errorf("copied over %d connections\n%s", connections.Load(), copied.String())
	}
}
