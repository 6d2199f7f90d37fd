package journal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// The keys of the Secret.
const (
	sessionKey   = "session.json"
	heartbeatKey = "heartbeat"
)

// StoreConfig says where a session object is.
type StoreConfig struct {
	// REST is how the API server is reached. It is copied. Required.
	REST *rest.Config
	// Namespace is that of the target's lease, Target the target's name. Required.
	Namespace, Target string
	// Guard is called right before each write but heartbeats, and an error keeps it
	// from being made: lease.Held's Check, for example. The default lets all pass.
	Guard func(ctx context.Context) error
}

// Store keeps the session of one target in its session object, a Secret. It is safe for
// concurrent use, also by several processes on several machines.
type Store struct {
	config StoreConfig
	client rest.Interface
	clock  *kubeclient.ServerClock
}

// Session is what the session object holds.
type Session struct {
	Document Document
	// Heartbeat is when the holder gave its last sign of life, or Now where that cannot
	// be read; Now is when the object was read or written. Both are of the API server's
	// clock, to a second.
	Heartbeat, Now time.Time
	// UID and Version are the object's; only that version is written or deleted.
	UID, Version string
}

// Silent is for how long the holder has given no sign of life.
func (s Session) Silent() time.Duration { return max(0, s.Now.Sub(s.Heartbeat)) }

// ObjectName is the name of a target's session object.
func ObjectName(target string) string { return keys.Manager + "-" + target + ".takeover" }

// NewStore returns the store of a target. It makes no call. The error matches
// ErrInvalid.
func NewStore(c StoreConfig) (*Store, error) {
	var errs []error
	if c.REST == nil {
		errs = append(errs, errors.New("REST is required"))
	}
	for _, f := range []struct{ field, value string }{{"Namespace", c.Namespace}, {"Target", c.Target}} {
		if msgs := validation.IsDNS1123Label(f.value); len(msgs) > 0 {
			errs = append(errs, fmt.Errorf("%s %q: %s", f.field, f.value, strings.Join(msgs, "; ")))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("session object: %w StoreConfig: %w", ErrInvalid, errors.Join(errs...))
	}
	if c.Guard == nil {
		c.Guard = func(context.Context) error { return nil }
	}
	s := &Store{config: c, clock: &kubeclient.ServerClock{}}
	var err error
	if s.client, err = kubeclient.New(s.clock.Listen(c.REST), corev1.SchemeGroupVersion, corev1.AddToScheme); err != nil {
		return nil, fmt.Errorf("session object: %w StoreConfig.REST: %w", ErrInvalid, err)
	}
	return s, nil
}

// Load reads the session. ErrNone if there is none; ErrDamaged, and ErrLater, if it
// cannot be read: the Session then has UID and Version alone. One API call.
func (s *Store) Load(ctx context.Context) (Session, error) {
	o, err := s.get(ctx)
	if err != nil {
		return Session{}, s.fail("read", err)
	}
	return s.session(o)
}

// Create writes a session where there is none, with a first sign of life. ErrExists if
// there is one already, which then is returned, or the ErrDamaged of it; ErrInvalid for
// a document that breaks a rule or is too large; the Guard's error. Two API calls.
func (s *Store) Create(ctx context.Context, d Document) (Session, error) {
	data, err := s.encode(d)
	if err != nil {
		return Session{}, err
	}
	// Its answer tells the time, too.
	if o, err := s.get(ctx); !kubeclient.NotFound(err) {
		return s.exists(o, err)
	}
	if err := s.config.Guard(ctx); err != nil {
		return Session{}, fmt.Errorf("create the session object: %w", err)
	}
	id := rand.Text()
	o := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: ObjectName(s.config.Target), Namespace: s.config.Namespace,
			Labels:      map[string]string{keys.ManagedBy: keys.Manager, keys.TakeoverOf: s.config.Target},
			Annotations: map[string]string{keys.WriteID: id},
		},
		Type: keys.TakeoverSession,
		Data: map[string][]byte{sessionKey: data, heartbeatKey: s.now()},
	}
	var made corev1.Secret
	err = kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Post()).Param("fieldManager", keys.Manager).Body(o).Do(ctx).Into(&made)
	})
	if err == nil {
		return s.session(&made)
	}
	if !apierrors.IsAlreadyExists(err) {
		return Session{}, s.fail("create", err)
	}
	have, err := s.get(ctx)
	if err == nil && have.Annotations[keys.WriteID] == id {
		return s.session(have) // the answer to our own was lost
	}
	return s.exists(have, err)
}

// exists is what a create comes to that meets an object.
func (s *Store) exists(o *corev1.Secret, err error) (Session, error) {
	if err != nil {
		return Session{}, s.fail("create", err)
	}
	have, err := s.session(o)
	return have, s.fail("create", errors.Join(ErrExists, err))
}

// Save writes the session's Document if the object is still the one that was read, and
// returns it as it then is. Without an Ending it is the holder's, and a sign of life,
// too. ErrConflict if it is not the one that was read; ErrNone if it is gone; ErrInvalid;
// the Guard's error. One API call, and one more after an error.
func (s *Store) Save(ctx context.Context, session Session) (Session, error) {
	data, err := s.encode(session.Document)
	if err != nil {
		return Session{}, err
	}
	if err := s.config.Guard(ctx); err != nil {
		return Session{}, fmt.Errorf("write the session object: %w", err)
	}
	values := map[string][]byte{sessionKey: data}
	if session.Document.Ending == nil {
		values[heartbeatKey] = s.now()
	}
	return s.write(ctx, session, values)
}

// late is how old a sign of life may be when it is written.
const late = 5 * time.Second

// Beat writes a sign of life of the holder. Call it at least twice for each Silence, and
// not much more often. ErrEnding if somebody else puts the workloads back, with the
// session as it is; ErrNone if it is gone; ErrConflict if it is another one. One API
// call, and two more where somebody else has written or this machine has slept.
func (s *Store) Beat(ctx context.Context, session Session) (Session, error) {
	const attempts = 3
	for n := 1; ; n++ {
		if session.Document.Ending != nil {
			return session, s.fail("write a sign of life to", ErrEnding)
		}
		beaten, err := s.write(ctx, session, map[string][]byte{heartbeatKey: s.now()})
		if err == nil {
			if beaten.Silent() <= late || n == attempts {
				return beaten, nil
			}
			session = beaten // the time was that of long ago
			continue
		}
		if !errors.Is(err, ErrConflict) || n == attempts {
			return Session{}, err
		}
		have, lerr := s.Load(ctx)
		switch {
		case lerr != nil:
			return Session{}, lerr
		case have.UID != session.UID || have.Document.Session != session.Document.Session || have.Document.Token != session.Document.Token:
			return have, err
		}
		session = have
	}
}

// Delete deletes the object if it is still the one that was read. That it is gone is no
// error. ErrConflict if it is another one; the Guard's error. One API call, and one more
// after an error.
func (s *Store) Delete(ctx context.Context, session Session) error {
	if err := s.config.Guard(ctx); err != nil {
		return fmt.Errorf("delete the session object: %w", err)
	}
	only := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID(session.UID)), ResourceVersion: ptr.To(session.Version)}}
	err := kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Delete()).Name(ObjectName(s.config.Target)).Body(only).Do(ctx).Error()
	})
	switch {
	case err == nil || kubeclient.NotFound(err):
		return nil
	case apierrors.IsConflict(err):
		if _, gerr := s.get(ctx); kubeclient.NotFound(gerr) {
			return nil // an earlier try has deleted it
		}
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return s.fail("delete", err)
}

// write replaces what data has, if the object is still the one that was read.
func (s *Store) write(ctx context.Context, session Session, data map[string][]byte) (Session, error) {
	id := rand.Text()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": session.UID, "resourceVersion": session.Version, "annotations": map[string]string{keys.WriteID: id}},
		"data":     data,
	})
	if err != nil {
		return Session{}, err
	}
	const attempts = 3
	for n := 1; ; n++ {
		var o corev1.Secret
		err = kubeclient.Retry(ctx, func() error {
			return s.request(s.client.Patch(types.MergePatchType)).Name(ObjectName(s.config.Target)).
				Param("fieldManager", keys.Manager).Body(patch).Do(ctx).Into(&o)
		})
		if err == nil {
			return s.session(&o)
		}
		if !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) { // as another UID is
			return Session{}, s.fail("write", err)
		}
		have, gerr := s.get(ctx)
		switch {
		case gerr != nil:
			return Session{}, s.fail("write", gerr)
		case have.Annotations[keys.WriteID] == id:
			return s.session(have) // the answer to our own was lost
		case have.ResourceVersion != session.Version || string(have.UID) != session.UID:
			return Session{}, s.fail("write", fmt.Errorf("%w: %w", ErrConflict, err))
		case n == attempts || apierrors.IsInvalid(err):
			return Session{}, s.fail("write", err)
		}
		// Nobody has written: servers also answer so to requests that met another
		// one of theirs.
	}
}

func (s *Store) get(ctx context.Context) (*corev1.Secret, error) {
	var o corev1.Secret
	err := kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Get()).Name(ObjectName(s.config.Target)).Do(ctx).Into(&o)
	})
	return &o, err
}

func (s *Store) request(r *rest.Request) *rest.Request {
	return r.MaxRetries(0).Namespace(s.config.Namespace).Resource("secrets")
}

// now is the API server's time, as it is written.
func (s *Store) now() []byte { return []byte(s.clock.Now().UTC().Format(time.RFC3339)) }

// encode is what the object gets of a document.
func (s *Store) encode(d Document) ([]byte, error) {
	d.Key = ""
	if d.Target != s.config.Target || d.Namespace != s.config.Namespace {
		return nil, fmt.Errorf("write the session object: %w: it is for target %q in namespace %q, and this is that of %q in %q",
			ErrInvalid, d.Target, d.Namespace, s.config.Target, s.config.Namespace)
	}
	data, err := Encode(d)
	if err == nil && len(data) > largest {
		err = fmt.Errorf("write the session object: %w: it would have %d bytes, want at most %d. Take over fewer workloads", ErrInvalid, len(data), largest)
	}
	return data, err
}

// session reads the object.
func (s *Store) session(o *corev1.Secret) (Session, error) {
	session := Session{Now: s.clock.Now().UTC().Truncate(time.Second), UID: string(o.UID), Version: o.ResourceVersion}
	d, err := Decode(o.Data[sessionKey])
	switch {
	case err != nil:
	case o.Type != keys.TakeoverSession:
		err = fmt.Errorf("%w: its type is %q, want %q", ErrDamaged, o.Type, keys.TakeoverSession)
	case d.Target != s.config.Target || d.Namespace != s.config.Namespace:
		err = fmt.Errorf("%w: it is of target %q in namespace %q", ErrDamaged, d.Target, d.Namespace)
	}
	if err != nil {
		return session, s.fail("read", err)
	}
	session.Document = d
	if session.Heartbeat, err = time.Parse(time.RFC3339, string(o.Data[heartbeatKey])); err != nil {
		// Nobody is silent of whom that cannot be told: the end of the lease ends the
		// session all the same, and the next sign of life mends it.
		session.Heartbeat = session.Now
	}
	return session, nil
}

// fail wraps an error.
func (s *Store) fail(op string, err error) error {
	advice := ""
	switch {
	case kubeclient.NamespaceMissing(err):
		advice = "\nCreate it: kubectl create namespace " + s.config.Namespace
	case kubeclient.NotFound(err):
		err = fmt.Errorf("%w: %w", ErrNone, err)
	case errors.Is(err, ErrDamaged):
		advice = "\n" + s.toMend(err)
	case apierrors.IsForbidden(err):
		advice = "\n" + kubeclient.ForbiddenAdvice(err, s.config.Namespace, "What is needed is to create secrets in "+s.config.Namespace+
			", and to get, patch and delete secrets called "+ObjectName(s.config.Target)+".")
	}
	return fmt.Errorf("%s Secret %s/%s: %w%s", op, s.config.Namespace, ObjectName(s.config.Target), err, advice)
}
