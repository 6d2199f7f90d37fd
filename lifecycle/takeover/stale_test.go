package takeover_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// What is diverted is put back, or gone on with, though the journal does not have it, since
// it could not be written then, and nothing on the target says so any more.
func TestStaleJournalAlone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(context.Context, *served) error{
		"the session object is damaged": func(ctx context.Context, s *served) error {
			_, err := s.Client().CoreV1().Secrets(s.Namespace).Patch(ctx, journal.ObjectName(s.Namespace), types.MergePatchType, []byte(`{"stringData":{"session.json":"{"}}`), metav1.PatchOptions{})
			return err
		},
		"the session object is gone": func(ctx context.Context, s *served) error {
			return s.Client().CoreV1().Secrets(s.Namespace).Delete(ctx, journal.ObjectName(s.Namespace), metav1.DeleteOptions{})
		},
	} {
		for what, end := range map[string]func(*served) error{
			"handed back": func(s *served) error { return s.finish() },
			"gone on with": func(s *served) error {
				r := begin(s.t, s.Config())
				r.until(takeover.EventServing, 1)
				return r.HandBack(s.t.Context())
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				s := serve(t, editAPI, nil)
				s.cancel()
				<-s.ended
				rewrite(t, s.Config().Folder, func(d *journal.Document) {
					d.Step = journal.Recorded
					for i := range d.Workloads {
						d.Workloads[i].State = journal.Untouched
					}
				})
				if err := spoil(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if err := end(s); err != nil {
					t.Error(err)
				}
				s.Whole(s.before)
			})
		}
	}
}
