package devenv

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

// markParameter is the query parameter of the request by which a reader of the audit log knows how far it must read.
const markParameter = "devenv-audit-mark"

// AuditLog is a view of the cluster's audit log from the moment on when it was made. Its methods may be called by
// several goroutines at once.
type AuditLog struct {
	cluster *Cluster
	client  kubernetes.Interface
	// from is the offset in the file of the line that the view starts behind.
	from int64
}

// AuditFromNow returns a view that shows the requests which the API server receives from now on. It returns
// [ErrNotStarted] for a cluster that this process did not start.
func (c *Cluster) AuditFromNow(ctx context.Context) (*AuditLog, error) {
	if c.launch == nil {
		return nil, ErrNotStarted
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	l := &AuditLog{cluster: c, client: client}
	info, err := os.Stat(c.auditLog)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	l.from = info.Size()
	s, err := l.scan(ctx)
	if err != nil {
		return nil, err
	}
	l.from = s.mark
	return l, nil
}

// Events returns the requests since the view was made, in the order in which the API server received them. Every
// request that was answered before the call is in it; of those that were still under way only the ones that have
// been answered since.
func (l *AuditLog) Events(ctx context.Context) ([]AuditEvent, error) {
	s, err := l.scan(ctx)
	if err != nil {
		return nil, err
	}
	var events []AuditEvent
	for _, id := range s.order {
		r := s.requests[id]
		if r.older || r.from <= l.from || r.from >= s.mark || !r.answered || strings.Contains(r.event.RequestURI, markParameter+"=") {
			continue
		}
		events = append(events, r.event)
	}
	return events, nil
}

// scan reads the log up to a request of its own. The API server writes a line before it handles a request, and another
// before or after it has answered; the line that follows a request's answer may be late. So scan makes a request, reads up to
// its first line, and waits for the second line of all that were received earlier.
func (l *AuditLog) scan(ctx context.Context) (*auditScan, error) {
	mark := rand.Text()
	err := l.client.Discovery().RESTClient().Get().AbsPath("/version").Param(markParameter, mark).Do(ctx).Error()
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	f, err := os.Open(l.cluster.auditLog)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()

	s := &auditScan{offset: l.from, markText: markParameter + "=" + mark, mark: -1, requests: map[string]*auditRequest{}}
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		if err := s.read(f, l.cluster.auditCut.Load()); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if s.complete() {
			return s, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("read the audit log: %s: %w", s.missing(), context.Cause(ctx))
		}
	}
}

// auditScan is the state of reading the log.
type auditScan struct {
	// offset is how far the file was read: always the begin of a line.
	offset int64
	// markText is in the address of the request to read up to, and mark the offset of its line, or -1.
	markText string
	mark     int64
	requests map[string]*auditRequest
	order    []string
}

// auditRequest is what the lines of one request say.
type auditRequest struct {
	event AuditEvent
	// from is the offset of its first line.
	from int64
	// older is set if the first line that was seen is not the request's first one: that lies before the view. A request
	// without valid credentials has one line only.
	older bool
	// answered is set by the line that has the answer's status; done also where that line will never come.
	answered, done bool
}

// read reads the lines that were added. Below cut, requests do not complete and a line may be broken.
func (s *auditScan) read(f io.ReaderAt, cut int64) error {
	b, err := io.ReadAll(io.NewSectionReader(f, s.offset, 1<<62))
	if err != nil {
		return err
	}
	for {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			break
		}
		if err := s.line(line, cut); err != nil {
			return err
		}
		s.offset += int64(len(line)) + 1
		b = rest
	}
	for _, r := range s.requests {
		r.done = r.done || r.from < cut
	}
	return nil
}

func (s *auditScan) line(b []byte, cut int64) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	var l auditLine
	if err := json.Unmarshal(b, &l); err != nil {
		if s.offset < cut {
			return nil
		}
		return fmt.Errorf("line at byte %d: %w", s.offset, err)
	}
	r := s.requests[l.AuditID]
	if r == nil {
		r = &auditRequest{from: s.offset, older: l.Stage != stageReceived && l.code() != http.StatusUnauthorized}
		s.requests[l.AuditID] = r
		s.order = append(s.order, l.AuditID)
	}
	if s.mark < 0 && strings.Contains(l.RequestURI, s.markText) {
		s.mark = s.offset
	}
	r.event = l.event()
	r.answered = l.Stage != stageReceived
	r.done = r.answered
	return nil
}

// complete reports whether every request before the mark is done.
func (s *auditScan) complete() bool { return s.mark >= 0 && s.missing() == "" }

func (s *auditScan) missing() string {
	if s.mark < 0 {
		return "the reader's own request is not in it"
	}
	for _, id := range s.order {
		if r := s.requests[id]; r.from < s.mark && !r.done {
			return fmt.Sprintf("%s %s is not answered", r.event.Verb, r.event.RequestURI)
		}
	}
	return ""
}

// cutAudit notes where the log of an ended process ends, and ends a line that it could not finish. It wants mu to be held.
func (c *Cluster) cutAudit() error {
	f, err := os.OpenFile(c.auditLog, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	last := []byte{'\n'}
	if size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
	}
	if last[0] != '\n' {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		size++
	}
	c.auditCut.Store(size)
	return nil
}
