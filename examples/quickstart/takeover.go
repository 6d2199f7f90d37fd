package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/examples/quickstart/shop"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// takeoverChapters are those of a takeover.
func (s *story) takeoverChapters() []scene {
	t := &taken{story: s}
	return []scene{
		{"The first commit", s.opening(), s.firstCommit},
		{"An edit that is not committed", "It answers for the pods of stock from this machine, under a lease.", t.takeOver},
		{"Another edit", "It is built beside the one that serves, and takes its place.", t.editAgain},
		{"The hand-back", "The Deployment is as it was, to the last byte, and the target as it was delivered.", t.handBack},
	}
}

// taken is a takeover of stock.
type taken struct {
	*story
	session *takeover.Session
	before  string // the Deployment's spec
	stop    func() error
}

// takeOver edits stock, and takes it over.
func (t *taken) takeOver(ctx context.Context, _ *chapter) (err error) {
	if err := t.lead(ctx); err != nil {
		return err
	}
	if t.before, err = t.spec(ctx); err != nil {
		return err
	}
	if err := t.answers(ctx, "lamps: 12"); err != nil {
		return err
	}
	if err := t.edit("lamps: 12", "lamps: 11"); err != nil {
		return err
	}
	serving, err := t.begin(ctx)
	if err != nil {
		return err
	}
	select {
	case err := <-serving:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return t.answers(ctx, "lamps: 11")
}

// begin begins the session, and tells when it serves, or why it ended.
func (t *taken) begin(ctx context.Context) (serving <-chan error, err error) {
	d, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := source.Open(t.shop.Dir())
	if err != nil {
		return nil, err
	}
	config, err := workstation.Takeover(workstation.TakeoverConfig{Target: d.target, Options: d.options, Repository: repo})
	if err != nil {
		return nil, err
	}
	told := make(chan error, 2)
	config.Events = func(e takeover.Event) {
		t.say.takeover(e)
		if e.Type == takeover.EventServing {
			told <- nil
		}
	}
	if t.session, err = takeover.New(config); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		err := t.session.Run(ctx)
		told <- errors.Join(errNotAsTold, err)
		ended <- err
	}()
	t.stop = func() error { return <-ended }
	return told, nil
}

// editAgain edits stock while it is taken over.
func (t *taken) editAgain(ctx context.Context, _ *chapter) error {
	if err := t.edit("lamps: 11", "lamps: 10"); err != nil {
		return err
	}
	for {
		answer, err := t.ask(ctx)
		if err != nil {
			return notAsTold(err, "no request was to fail meanwhile")
		}
		if answer == "lamps: 10" {
			return t.answers(ctx, "lamps: 10")
		}
	}
}

// handBack hands stock back, and looks whether all is as it was.
func (t *taken) handBack(ctx context.Context, c *chapter) error {
	if err := t.session.HandBack(ctx); err != nil {
		return err
	}
	if err := t.stop(); err != nil {
		return err
	}
	if err := t.answers(ctx, "lamps: 12"); err != nil {
		return err
	}
	after, err := t.spec(ctx)
	if err != nil {
		return err
	}
	if after != t.before {
		return notAsTold(nil, "the Deployment was to be as before\n%s\nand is\n%s", t.before, after)
	}
	if err := t.look(ctx, c); err != nil {
		return err
	}
	if !c.status.IsLive() {
		return notAsTold(nil, "the target was to be live")
	}
	return nil
}

// edit changes what stock answers.
func (t *taken) edit(before, after string) error {
	t.say.line("$ sed -i 's/%s/%s/' services/stock/main.go", before, after)
	return t.shop.Replace("services/stock/main.go", before, after)
}

// answers asks stock, and wants that answer.
func (t *taken) answers(ctx context.Context, want string) error {
	answer, err := t.ask(ctx)
	if err != nil {
		return err
	}
	t.say.line("GET /stock of the Service stock: %s", answer)
	if answer != want {
		return notAsTold(nil, "it was to answer %q", want)
	}
	return nil
}

// ask asks a pod behind the Service, by way of the API server.
func (t *taken) ask(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(t.cluster)
	if err != nil {
		return "", err
	}
	answer, err := client.CoreV1().Services(t.namespace).ProxyGet("http", "stock", "80", "/stock", nil).DoRaw(ctx)
	return strings.TrimSpace(string(answer)), err
}

func (t *taken) spec(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(t.cluster)
	if err != nil {
		return "", err
	}
	d, err := client.AppsV1().Deployments(t.namespace).Get(ctx, "stock", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	doc, err := d.Spec.Marshal()
	return fmt.Sprintf("%x", doc), err
}

// lead runs the target's controller in this process, which puts back what is taken over
// by who is gone. deploy --controller-image installs it in the cluster.
func (t *taken) lead(ctx context.Context) error {
	d, err := t.open(ctx)
	if err != nil {
		return err
	}
	r, err := standard.NewRestorer(d.target, d.options)
	if err != nil {
		return err
	}
	elections, err := lease.New(lease.Config{REST: t.cluster, Namespace: d.target.Namespace, Target: shop.Target, Name: standard.LeaderLease(shop.Target)})
	if err != nil {
		return err
	}
	may, err := controller.MayPutBack(t.cluster, []string{t.namespace})
	if err != nil {
		return err
	}
	c, err := controller.New(controller.Config{Lease: elections, Identity: "quickstart", Covers: may, Takeovers: []controller.Takeover{{Namespace: d.target.Namespace, Target: shop.Target, Sessions: r}}})
	if err != nil {
		return err
	}
	go func() { _ = c.Run(ctx) }() // until the story ends
	for {
		now, err := elections.Inspect(ctx)
		if err != nil {
			return err
		}
		if now.Held {
			t.say.line("the target's controller runs")
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
