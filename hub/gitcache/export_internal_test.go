package gitcache

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/axle-cd/axle/internal/digest"
)

// ShortenGap lets passes follow each other faster than the product allows, for
// tests of what a pass does.
func ShortenGap(c *Config) { c.gap = 10 * time.Millisecond }

// SmallFetches bounds a fetch to 100 KB.
func SmallFetches(c *Config) { c.maxPack = 100 << 10 }

// Stored returns the folder of the tarballs of a cache.
func Stored(c *Cache) string { return c.config.Dir + "/tarballs" }

// Mirror returns the folder of a repository's mirror.
func Mirror(c *Cache, repositoryID string) string { return mirrorDir(c.config.Dir, repositoryID) }

// Forget drops a tarball from the node cache.
func Forget(c *Cache, d digest.Digest) error {
	found, err := filepath.Glob(filepath.Join(Stored(c), "*", d.Hex()+".*"))
	for _, p := range found {
		err = errors.Join(err, os.Remove(p))
	}
	return err
}

// ForgetVariants removes all deltas and gzip forms.
func ForgetVariants(c *Cache) error {
	found, err := filepath.Glob(filepath.Join(c.config.Dir, "variants", "??", "*"))
	for _, p := range found {
		err = errors.Join(err, os.Remove(p))
	}
	return err
}
