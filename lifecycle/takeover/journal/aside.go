package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// SetAside copies the session object to a Secret of another name, which it returns, and
// deletes it, so that nothing of it is lost and another session can begin: for what
// cannot be read. Called again after it was killed it makes no second copy. ErrConflict
// if the object is not the one that was read any more; ErrNone if it is gone; the
// Guard's error. Three API calls.
func (s *Store) SetAside(ctx context.Context, session Session) (string, error) {
	o, err := s.get(ctx)
	if err != nil {
		return "", s.fail("set aside", err)
	}
	if string(o.UID) != session.UID || o.ResourceVersion != session.Version {
		return "", s.fail("set aside", ErrConflict)
	}
	if err := s.config.Guard(ctx); err != nil {
		return "", fmt.Errorf("set the session object aside: %w", err)
	}
	// Its name is that of what it has, and so the same each time.
	name := fmt.Sprintf("%s.aside-%.10x", ObjectName(s.config.Target), sha256.Sum256([]byte(session.UID+"/"+session.Version)))
	kept := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.config.Namespace,
			Labels: map[string]string{keys.ManagedBy: keys.Manager, keys.TakeoverOf: s.config.Target},
		},
		Type: keys.TakeoverSession, Data: o.Data,
	}
	err = kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Post()).Param("fieldManager", keys.Manager).Body(kept).Do(ctx).Error()
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", s.fail("keep a copy of", err)
	}
	return name, s.Delete(ctx, session)
}

// toMend says what helps where the session object cannot be read.
func (s *Store) toMend(err error) string {
	help := "Nothing is put back by it, and no other takeover begins, until it is set aside, which keeps a copy: kubectl pharos handback --force --reason TEXT\n" +
		"What it has: kubectl get secret " + ObjectName(s.config.Target) + " --namespace " + s.config.Namespace + " --output yaml"
	if errors.Is(err, ErrLater) {
		help = "The version of Pharos that wrote it can hand back. Without that one: " + help
	}
	return help
}
