package gitcache

import (
	"context"

	"github.com/axle-cd/axle/hub/peer"
)

// seed copies a repository from another replica.
func (c *Cache) seed(context.Context, string, peer.Replica) error { return nil }

// seedFinal copies what a former owner had last.
func (c *Cache) seedFinal(context.Context, string, peer.Replica, string) error { return nil }

// refsOf returns the hash of the refs of this replica's copy.
func (c *Cache) refsOf(context.Context, string) string { return "" }

// FollowNow implements peer.Owner.
func (c *Cache) FollowNow(string) {}
