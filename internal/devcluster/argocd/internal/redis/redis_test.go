package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/pharos-dev/pharos/internal/devcluster/argocd/internal/redis"
)

// A key lives for its time and then goes: Argo CD's locks and caches count on both.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	address, served := make(chan string, 1), make(chan error, 1)
	go func() { served <- redis.Serve(ctx, "127.0.0.1:0", func(a string) { address <- a }) }()
	var c *client.Client
	select {
	case a := <-address:
		c = client.NewClient(&client.Options{Addr: a})
	case err := <-served:
		t.Fatal(err)
	}
	if err := c.Set(ctx, "lasting", "x", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if ok, err := c.SetNX(ctx, "lock", "x", 300*time.Millisecond).Result(); err != nil || !ok {
		t.Fatalf("got %t, %v", ok, err)
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := c.SetNX(ctx, "lock", "y", time.Hour).Result()
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			break
		}
		<-again.C
	}
	if got, err := c.Get(ctx, "lasting").Result(); err != nil || got != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := c.Get(ctx, "other").Result(); !errors.Is(err, client.Nil) {
		t.Errorf("got %v, want that there is no such key", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
