package relay

import (
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// serve takes the channel's requests. It never waits, since the stream's reader
// waits for it.
func (j *join) serve() {
	defer close(j.closed)
	ended := false
	for request := range j.Requests {
		switch request.Type {
		case wire.RequestConsumed:
			var consumed wire.Consumed
			err := ssh.Unmarshal(request.Payload, &consumed)
			if err == nil {
				err = j.credit.report(int(consumed.Bytes))
			}
			if err != nil {
				j.aside.Go(func() { j.fail(err, false) })
			}
		case wire.RequestReport:
			if n := j.take(true); n > 0 {
				j.aside.Go(func() { j.report(n) })
			}
		case wire.RequestEnd:
			if !ended {
				ended = true
				close(j.ended)
			}
		default:
			if request.WantReply {
				j.aside.Go(func() { request.Reply(false, nil) })
			}
		}
	}
	j.credit.close()
	if !ended {
		// Who takes no bytes is told of the cut all the same.
		j.Conn.SetWriteDeadline(time.Now().Add(closeTimeout))
	}
}

// ask asks the other side to report what it consumed.
func (j *join) ask() { j.Channel.SendRequest(wire.RequestReport, false, nil) }

// consumed counts bytes that were handed on, and reports them if it is time.
func (j *join) consumed(n int) {
	j.reporting.Lock()
	j.unreported += n
	due := j.asked || j.unreported >= reportEvery
	j.reporting.Unlock()
	if due {
		j.report(j.take(false))
	}
}

// take returns what is to be reported and counts it as such. If there is nothing,
// asked has the next byte reported.
func (j *join) take(asked bool) int {
	j.reporting.Lock()
	defer j.reporting.Unlock()
	n := j.unreported
	j.unreported = 0
	j.asked = asked && n == 0
	return n
}

func (j *join) report(n int) {
	if n > 0 {
		j.Channel.SendRequest(wire.RequestConsumed, false, ssh.Marshal(wire.Consumed{Bytes: uint32(n)}))
	}
}
