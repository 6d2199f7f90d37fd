//go:build linux

package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// kubeletHealth is the address at which a kubelet says that it works.
const kubeletHealth = "http://127.0.0.1:10248/healthz"

// obeyer obeys commands, one after the other.
type obeyer struct {
	kubelet, apiServer *program
	// serves waits until the API server serves.
	serves func(context.Context) error
}

// obey reads commands until in ends and prints an [Answer] to each as JSON.
func (o *obeyer) obey(ctx context.Context, in io.Reader, out io.Writer) {
	answers := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		a := Answer{Command: Command(lines.Text())}
		if err := o.do(ctx, a.Command); err != nil {
			a.Error = err.Error()
		}
		// The error of a reader that is gone is noticed where it matters: this process ends with it.
		_ = answers.Encode(a)
	}
}

func (o *obeyer) do(ctx context.Context, c Command) error {
	switch c {
	case KillKubelet:
		return o.kubelet.kill(ctx)
	case StartKubelet:
		return again(ctx, o.kubelet, func(ctx context.Context) error { return awaitOK(ctx, kubeletHealth) })
	case KillAPIServer:
		return o.apiServer.kill(ctx)
	case StartAPIServer:
		return again(ctx, o.apiServer, o.serves)
	default:
		return errors.New("there is no such command")
	}
}

// again starts a program that was killed, and waits until it works.
func again(ctx context.Context, p *program, works func(context.Context) error) error {
	if err := p.start(ctx); err != nil {
		return err
	}
	return works(ctx)
}

// awaitOK waits until an address answers that all is well.
func awaitOK(ctx context.Context, address string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := answersOK(ctx, address)
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", address, ctx.Err())
		}
	}
}

// answersOK asks an address once. That nobody listens there is no error.
func answersOK(ctx context.Context, address string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, nil
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK, nil
}
