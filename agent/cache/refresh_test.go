package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

// refresher is the tested interface; the cache implements it, and so does the broken
// one below.
type refresher func(ctx context.Context, service string, d digest.Digest, fetch cache.Fetch) (cache.Refreshed, error)

// fullDownloads lets a loop run for a day of an injected clock, asking every
// minute, and returns an error when some service was not downloaded whole
// within every 2 h, or when many services were at once.
func fullDownloads(ctx context.Context, c *clock.Manual, d digest.Digest, src *source, services int, refresh refresher) error {
	last := map[string]time.Time{}
	for n := range services {
		last[fmt.Sprint("service-", n)] = c.Now()
	}
	for range 24 * 60 {
		c.Advance(time.Minute)
		now := 0
		for id, before := range last {
			done, err := refresh(ctx, id, d, src.fetch)
			if err != nil {
				return err
			}
			if done.Downloaded {
				now++
				last[id] = c.Now()
			} else if gap := c.Now().Sub(before); gap > 2*time.Hour {
				return fmt.Errorf("%s was not downloaded for %v", id, gap)
			}
		}
		if now > services/5 {
			return fmt.Errorf("%d of %d services came at once", now, services)
		}
	}
	if got, most := int(src.count.Load()), services*13; got > most {
		return fmt.Errorf("%d downloads in a day, at most %d are needed", got, most)
	}
	return nil
}

func refreshed(t *testing.T, services int) (*clock.Manual, digest.Digest, *source, *cache.Cache) {
	t.Helper()
	manual := clock.NewManual(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	c := open(t, t.TempDir(), func(cfg *cache.Config) { cfg.Clock = manual })
	d, body := pack(t, "x")
	src := &source{body: body}
	for n := range services {
		tree, err := c.Tree(t.Context(), fmt.Sprint("service-", n), d, src.fetch)
		if err != nil {
			t.Fatal(err)
		}
		tree.Release()
	}
	return manual, d, src, c
}

func TestFullDownloadWithinTwoHours(t *testing.T) {
	manual, d, src, c := refreshed(t, 30)
	if err := fullDownloads(t.Context(), manual, d, src, 30, c.Refresh); err != nil {
		t.Error(err)
	}
}

// The same check on a cache that trusts the digest it has and asks only once.
func TestFullDownloadWithinTwoHoursCatchesATrustingCache(t *testing.T) {
	manual, d, src, c := refreshed(t, 30)
	asked := map[string]bool{}
	trusting := func(ctx context.Context, service string, d digest.Digest, fetch cache.Fetch) (cache.Refreshed, error) {
		if asked[service] {
			return cache.Refreshed{}, nil
		}
		done, err := c.Refresh(ctx, service, d, fetch)
		asked[service] = done.Downloaded
		return done, err
	}
	if err := fullDownloads(t.Context(), manual, d, src, 30, trusting); err == nil {
		t.Error("a cache that never downloads again was not caught")
	}
}

func TestRefreshRepairsADamagedCopy(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"changed": func(p string) error { return os.WriteFile(p, []byte("y"), 0o600) },
		"cut":     func(p string) error { return os.Truncate(p, 0) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			manual, d, src, c := refreshed(t, 1)
			tree, err := c.Tree(t.Context(), "service-0", d, src.fetch)
			if err != nil {
				t.Fatal(err)
			}
			tree.Release()
			if err := damage(filepath.Join(tree.Dir, "a/file.yaml")); err != nil {
				t.Fatal(err)
			}
			manual.Advance(2 * time.Hour)
			// While the hub is unavailable the damaged copy is not used …
			away := func(context.Context, tarball.Request) (*tarball.Download, error) { return nil, errors.New("away") }
			if _, err := c.Refresh(t.Context(), "service-0", d, away); err == nil {
				t.Error("a refresh without the hub succeeded")
			}
			if _, err := c.Tree(t.Context(), "service-0", d, away); err == nil {
				t.Error("the damaged copy was handed out")
			}
			// … and once it is back the copy is whole.
			tree, err = c.Tree(t.Context(), "service-0", d, src.fetch)
			if err != nil || read(t, tree) != "x" {
				t.Errorf("after the repair: %v", err)
			}
		})
	}
}

func TestRefreshReplacesADamagedCopy(t *testing.T) {
	manual, d, src, c := refreshed(t, 1)
	tree, err := c.Tree(t.Context(), "service-0", d, src.fetch)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree.Dir, "a/file.yaml"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	manual.Advance(2 * time.Hour)
	done, err := c.Refresh(t.Context(), "service-0", d, src.fetch)
	if err != nil || !done.Repaired || read(t, tree) != "x" {
		t.Errorf("got %+v, %v", done, err)
	}
}
