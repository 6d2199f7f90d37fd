//go:build !pharos_agent

package agent

import "embed"

// Sources are the files that the agent's program is built from, by their paths from
// this package's folder. This file is none of them: the program does not carry them.
//
//go:embed accept.go agent.go answer.go caller.go doc.go down.go followed.go gate.go http1.go http1_line.go
//go:embed http1_message.go http2.go http2_frame.go http2_headers.go http2_refuse.go lobby.go patience.go probe.go pulse.go
//go:embed serve.go stream.go
//go:embed pharos-agent/main.go
//go:embed bulk/batch.go bulk/direct_linux.go bulk/direct_other.go bulk/doc.go bulk/norace.go bulk/race.go
//go:embed relay/buffer.go relay/channel.go relay/credit.go relay/doc.go relay/read.go relay/relay.go relay/secure.go
//go:embed relay/stream.go relay/writer.go
//go:embed wire/check.go wire/doc.go wire/frame.go wire/session.go wire/wire.go
var Sources embed.FS
