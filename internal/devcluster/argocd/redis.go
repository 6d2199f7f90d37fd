package main

import (
	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/internal/devcluster/argocd/internal/redis"
)

func newRedis() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:  "redis-server",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return redis.Serve(c.Context(), address, func(string) {}) },
	}
	c.Flags().StringVar(&address, "address", "127.0.0.1:6379", "the address to listen on")
	return c
}
