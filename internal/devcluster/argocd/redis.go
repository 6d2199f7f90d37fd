package main

import (
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/spf13/cobra"
)

func newRedis() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:  "redis-server",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return serveRedis(address) },
	}
	c.Flags().StringVar(&address, "address", "127.0.0.1:6379", "the address to listen on")
	return c
}

// serveRedis serves until the process ends.
func serveRedis(address string) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return err
	}
	last := time.Now()
	// It leaves it to its caller to have time pass.
	for now := range time.Tick(100 * time.Millisecond) {
		server.FastForward(now.Sub(last))
		last = now
	}
	return nil
}
