package gitcache

import "time"

// ShortenGap lets passes follow each other faster than the product allows, for
// tests of what a pass does.
func ShortenGap(c *Config) { c.gap = 10 * time.Millisecond }

// Stored returns the folder of the tarballs of a cache.
func Stored(c *Cache) string { return c.config.Dir + "/tarballs" }

// Mirror returns the folder of a repository's mirror.
func Mirror(c *Cache, repositoryID string) string { return c.mirrorDir(repositoryID) }
