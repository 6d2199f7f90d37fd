// Package redis serves the redis protocol from memory.
package redis

import (
	"context"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how exactly keys expire.
const tick = 100 * time.Millisecond

// Serve listens on the address and serves until ctx ends. listening is called with the address once it does.
func Serve(ctx context.Context, address string, listening func(address string)) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return err
	}
	defer server.Close()
	listening(server.Addr())
	again := time.NewTicker(tick)
	defer again.Stop()
	last := time.Now()
	for {
		select {
		case now := <-again.C:
			// It leaves it to its caller to have time pass.
			server.FastForward(now.Sub(last))
			last = now
		case <-ctx.Done():
			return nil
		}
	}
}
