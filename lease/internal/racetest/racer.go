package racetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lease"
)

// Setup is what a racer is told.
type Setup struct {
	Kubeconfig string
	Namespace  string
	// Log is a file that holders write to, after each Check, with nothing else that
	// would guard it.
	Log string
	// Skew is by how much the clock of the racer is wrong.
	Skew time.Duration
}

const (
	variable = "PHAROS_TEST_RACER"
	// object is the ConfigMap that holders write to, with its resourceVersion as a
	// precondition.
	object = "written"
)

// order is a round of a racer.
type order struct {
	// Wait is how long to wait for the lease.
	Wait time.Duration
	// Writes is how often to write under it, and Renew says to renew it before each
	// time, beside what Keep does.
	Writes int
	Renew  bool
	// Open says to open the gate before the lease is released.
	Open bool
	// Ask says to wait, once it holds the lease, for a line.
	Ask bool
}

// What a racer says, one a line. The last one of a round is an end of it.
const (
	sayAt      = "at"      // where it is
	sayHeld    = "held"    // and its token and holder
	sayDone    = "done"    // it gave the lease back
	sayRefused = "refused" // somebody else held the lease
	sayBusy    = "busy"    // what it wanted to cover was being written to
	sayLost    = "lost"    // it lost the lease
	sayFailed  = "failed"  // the API server was in trouble, or the gate
	sayError   = "error"   // and what must not be
)

// wrong is a clock that is wrong by a constant.
type wrong struct{ by time.Duration }

func (w wrong) Now() time.Time                       { return time.Now().Add(w.by) }
func (wrong) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Racer is what a test makes of its processes.
type Racer struct {
	Config lease.Config
	Mode   lease.Mode
	// Write is called with each write, beside what the package has written. It may
	// be nil.
	Write func(context.Context, *lease.Held) error

	input   *bufio.Scanner
	objects typedcorev1.ConfigMapInterface
	log     *os.File
}

// Main runs a racer and ends the process, if that is what the process was started
// for. build makes it, with the configuration of the API server, and with that of
// the lease as far as it is known: see [Config].
func Main(build func(Setup, *rest.Config, lease.Config) (*Racer, error)) {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	if err := runRacer(text, build); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runRacer(text string, build func(Setup, *rest.Config, lease.Config) (*Racer, error)) error {
	var s Setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	r, err := build(s, config, Config(config, s))
	if err != nil {
		return err
	}
	manager, err := lease.New(r.Config)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	r.objects = client.CoreV1().ConfigMaps(s.Namespace)
	if r.log, err = os.OpenFile(s.Log, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	r.input = bufio.NewScanner(os.Stdin)
	for r.input.Scan() {
		var o order
		if err := json.Unmarshal(r.input.Bytes(), &o); err != nil {
			return err
		}
		fmt.Println(said(r.round(context.Background(), manager, o)))
	}
	return errors.Join(r.input.Err(), r.log.Close())
}

// At has a racer say where it is: there it may be killed, suspended or lose its
// lease.
func At(where string) { fmt.Println(sayAt, where) }

// Config is what all racers, and the test, know of the lease.
func Config(config *rest.Config, s Setup) lease.Config {
	return lease.Config{REST: config, Namespace: s.Namespace, Target: "devbox", Clock: wrong{s.Skew}}
}

// ErrWrong is what a Write returns that finds what must not be.
var ErrWrong = errors.New("this must not be")

// said is the last line of a round that ended so.
func said(err error) string {
	switch {
	case err == nil:
		return sayDone
	case errors.Is(err, lease.ErrHeld):
		return sayRefused
	case errors.Is(err, ErrWrong) || errors.Is(err, lease.ErrOpened):
		return fmt.Sprintf("%s %q", sayError, err)
	case errors.Is(err, lease.ErrLost):
		return sayLost
	case errors.Is(err, lease.ErrBusy):
		return sayBusy
	case kubeclient.Unavailable(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lease.ErrLeftClosed):
		return sayFailed
	}
	return fmt.Sprintf("%s %q", sayError, err)
}

// round acquires the lease, writes under it, and gives it back.
func (r *Racer) round(ctx context.Context, m *lease.Manager, o order) error {
	h, err := m.Acquire(ctx, lease.Request{Mode: r.Mode, User: fmt.Sprintf("racer@%d", os.Getpid()), Wait: o.Wait})
	if err != nil {
		return err
	}
	fmt.Println(sayHeld, h.Token(), h.Holder())
	_, stop := h.Keep(ctx)
	if o.Ask {
		r.input.Scan()
	}
	for range o.Writes {
		if err = r.write(ctx, h, o.Renew); err != nil {
			break
		}
		At("write")
	}
	if err == nil && o.Open {
		_, err = h.Open(ctx)
	}
	stop()
	return errors.Join(err, h.Release(ctx))
}

func (r *Racer) write(ctx context.Context, h *lease.Held, renew bool) error {
	if renew {
		if err := h.Renew(ctx); err != nil {
			return err
		}
	}
	if err := r.writeObject(ctx, h); err != nil {
		return err
	}
	if err := r.writeLog(ctx, h); err != nil || r.Write == nil {
		return err
	}
	return r.Write(ctx, h)
}

// writeObject counts the object's writes, and leaves there who wrote last.
func (r *Racer) writeObject(ctx context.Context, h *lease.Held) error {
	o, err := r.objects.Get(ctx, object, metav1.GetOptions{})
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(o.Data["number"])
	if err != nil {
		return err
	}
	if err := h.Check(ctx); err != nil {
		return err
	}
	o.Data = map[string]string{"number": strconv.Itoa(number + 1), "token": strconv.FormatInt(h.Token(), 10), "holder": h.Holder()}
	_, err = r.objects.Update(ctx, o, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return nil // somebody wrote meanwhile; the next Check says why
	}
	return err
}

// writeLog adds to the log who writes, and how long that was on its way. Its second
// line says so also where the process was suspended within the write of the first.
func (r *Racer) writeLog(ctx context.Context, h *lease.Held) error {
	begun := time.Now()
	if err := h.Check(ctx); err != nil {
		return err
	}
	for _, what := range []string{"write", "landed"} {
		if _, err := fmt.Fprintln(r.log, what, h.Token(), h.Holder(), time.Since(begun).Nanoseconds()); err != nil {
			return err
		}
	}
	return nil
}
