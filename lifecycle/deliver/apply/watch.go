package apply

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// news is what a watch brings: one object that changed or went, or all of them
// after the watch lost track.
type news struct {
	list int     // the index of the listing in the view
	item object  // what changed
	gone bool    // it is there no longer
	all  listing // everything, if relisted
	full bool
}

// watchLimit is how long one watch lasts at most, before it is asked for again:
// one that hangs without a word is noticed then. Several are spread over twice
// the time.
const watchLimit = 60 * time.Second

// follow sends news of a listing until ctx ends, over as many watches as it
// takes. It gives up when the server refuses, or has not answered for as long
// as requests are tried again.
func (d *Deliverer) follow(ctx context.Context, n int, l listing, target string, out chan<- news) error {
	b := newBackoff(d.client.retry)
	for {
		heard, err := d.watchOnce(ctx, n, &l, target, out)
		if ctx.Err() != nil {
			return nil
		}
		if heard || err == nil {
			b = newBackoff(d.client.retry)
		}
		if err == nil {
			continue
		}
		s, ok := answered(err)
		if ok && (s.Code == http.StatusGone || s.Code == http.StatusNotFound) {
			// The server keeps no history that far back, or not this kind.
			fresh, err := d.list(ctx, l.of, targetSelector(target), acceptJSON)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return d.client.explain(ctx, "list", l.of.name(), err)
			}
			l = fresh
			if !tell(ctx, out, news{list: n, all: fresh, full: true}) {
				return nil
			}
			if s.Code == http.StatusGone {
				continue
			}
		} else if !d.client.transient(err) {
			return d.client.explain(ctx, "watch", l.of.name(), err)
		}
		d.client.log.DebugContext(ctx, "watching again", "resource", l.of.name(), "error", err)
		if !b.wait(ctx, retryAfter(err)) && ctx.Err() == nil {
			return d.client.explain(ctx, "watch", l.of.name(), err)
		}
	}
}

func tell(ctx context.Context, out chan<- news, n news) bool {
	select {
	case out <- n:
		return true
	case <-ctx.Done():
		return false
	}
}

// watchOnce watches from the listing's version on and moves that forward. It
// says whether it heard anything; nil is the end that was asked for.
func (d *Deliverer) watchOnce(ctx context.Context, n int, l *listing, target string, out chan<- news) (heard bool, err error) {
	limit := watchLimit + rand.N(watchLimit)
	// The server ends a watch in time; if it does not, it is not there.
	ctx, cancel := context.WithTimeout(ctx, limit+d.client.timeout)
	defer cancel()
	// Only the beginning of the answer has to come at once.
	begin := time.AfterFunc(d.client.timeout, cancel)
	resp, err := d.client.send(ctx, request{method: http.MethodGet, path: l.of.path(), accept: acceptJSON, query: url.Values{
		"watch":               {"true"},
		"labelSelector":       {targetSelector(target)},
		"resourceVersion":     {l.version},
		"allowWatchBookmarks": {"true"},
		"timeoutSeconds":      {strconv.Itoa(int(limit / time.Second))},
	}})
	begin.Stop()
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := dec.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return heard, nil
			}
			return heard, err
		}
		if e.Type == "ERROR" {
			return heard, watchError(e.Object)
		}
		heard = true
		item, err := decodeObject(e.Object)
		if err != nil {
			return heard, err
		}
		l.version = versionOf(item)
		if e.Type == "BOOKMARK" {
			continue
		}
		named(item, l.of)
		if !tell(ctx, out, news{list: n, item: item, gone: e.Type == "DELETED"}) {
			return heard, ctx.Err()
		}
	}
}

// watchError is the error that a server reports in the middle of a watch.
func watchError(raw json.RawMessage) error {
	var s metav1.Status
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	return statusOf(s, http.StatusInternalServerError)
}
