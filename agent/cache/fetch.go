package cache

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

// Fetch starts a download.
type Fetch func(ctx context.Context, r tarball.Request) (*tarball.Download, error)

// Transfer describes one download.
type Transfer struct {
	Digest  digest.Digest
	From    string
	Bytes   int64 // received over the network
	Delta   bool
	Resumed bool
	// Refused is set if the bytes were not the requested content.
	Refused bool
}

// bring gets the content of d into a new folder: from the service's previous content
// and a delta, from the rest of an earlier attempt, or whole. It returns only content
// with the digest d.
func (c *Cache) bring(ctx context.Context, service string, d digest.Digest, fetch Fetch) (string, record, error) {
	have, release := c.earlier(service, d)
	defer release()
	r := tarball.Request{Digest: d, Have: have}
	p := c.openPartial(d)
	if p != nil {
		r = tarball.Request{Digest: d, Offset: p.size, ETag: p.etag}
	}
	body, err := fetch(ctx, r)
	if err != nil {
		return "", record{}, errors.Join(err, p.close())
	}
	if !body.Delta {
		return c.unpackWhole(ctx, d, body, p)
	}
	fresh, rec, err := c.unpackDelta(ctx, have, d, body)
	if err == nil || !refused(err) {
		return fresh, rec, err
	}
	// The whole tarball needs neither the delta nor its base, whichever of them is
	// damaged.
	c.cfg.Log.Warn("a delta was rejected; downloading the whole tarball", logkey.Digest, d.Short(), "from", body.From, logkey.Error, err)
	if good, err := c.check(ctx, have); err == nil && !good {
		c.forget(have)
	}
	if body, err = fetch(ctx, tarball.Request{Digest: d}); err != nil {
		return "", record{}, err
	}
	return c.unpackWhole(ctx, d, body, nil)
}

// earlier returns the content that a service had before d, if it is here, and keeps
// it during a download.
func (c *Cache) earlier(service string, d digest.Digest) (digest.Digest, func()) {
	c.mu.Lock()
	have := c.last[service]
	c.mu.Unlock()
	if have == d || have == "" || !c.here(have) {
		return "", func() {}
	}
	return have, c.use(have).release
}

func (c *Cache) unpackDelta(ctx context.Context, have, d digest.Digest, body *tarball.Download) (string, record, error) {
	defer body.Close()
	fresh, err := os.MkdirTemp(c.trees, unfinished)
	if err != nil {
		return "", record{}, diskError("download a tree", err)
	}
	counted := &counter{r: body}
	got, stats, err := tarball.ApplyDelta(ctx, counted, c.treePath(have), fresh, tarball.Delta{From: have, To: d}, c.cfg.Limits)
	t := Transfer{Digest: d, From: body.From, Bytes: counted.n, Delta: true}
	defer func() { c.cfg.Observe(t) }()
	if err != nil {
		err = c.unpackError(d, counted.err, err)
	} else if wrong := digest.Verify(d, got); wrong != nil {
		err = errors.Join(altered(d, body.From, wrong), os.RemoveAll(fresh))
	}
	if err != nil {
		t.Refused = refused(err)
		return "", record{}, err
	}
	// The size of the whole is an estimate; how often it is downloaded again depends on it.
	return fresh, record{Bytes: stats.Bytes, TarballBytes: max(c.sizeOf(have), counted.n)}, nil
}

func (c *Cache) sizeOf(d digest.Digest) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.records[d].TarballBytes
}

// unpackWhole unpacks a tarball while it arrives, after the bytes of an earlier
// attempt. If the download breaks off, it keeps what arrived.
func (c *Cache) unpackWhole(ctx context.Context, d digest.Digest, body *tarball.Download, p *partial) (string, record, error) {
	defer body.Close()
	if p != nil && (body.Offset != p.size || body.ETag != p.etag) {
		if err := p.discard(); err != nil {
			return "", record{}, err
		}
		p = nil
	}
	if p == nil {
		p = c.newPartial(d, body)
	}
	fresh, err := os.MkdirTemp(c.trees, unfinished)
	if err != nil {
		return "", record{}, errors.Join(diskError("download a tree", err), p.close())
	}
	came := &counter{r: body}
	t := Transfer{Digest: d, From: body.From, Resumed: body.Offset > 0}
	defer func() { t.Bytes = came.n; c.cfg.Observe(t) }()
	all := &counter{r: p.through(came)}
	got, stats, err := tarball.Unpack(ctx, all, fresh, c.cfg.Limits)
	if err != nil {
		err = c.unpackError(d, came.err, err)
		if came.err != nil || ctx.Err() != nil {
			return "", record{}, errors.Join(err, p.close())
		}
		t.Refused = true
		return "", record{}, errors.Join(named(err, body.From), p.discard())
	}
	if wrong := digest.Verify(d, got); wrong != nil {
		t.Refused = true
		return "", record{}, errors.Join(altered(d, body.From, wrong), os.RemoveAll(fresh), p.discard())
	}
	return fresh, record{Bytes: stats.Bytes, TarballBytes: all.n}, p.discard()
}

// altered explains content that does not match its digest.
func altered(d digest.Digest, from string, wrong error) error {
	if from == "" {
		from = "what answers at the hub's address"
	}
	return errcode.Hide(errcode.Unavailable, &RefusedError{d, from},
		"the tarball %s is rejected: %v; it came from %s, and something between the hub and this agent, or a disk there, altered it; the agent requests it again", d.Short(), wrong, from)
}

// named adds to an error who served the bytes.
func named(err error, from string) error {
	if from == "" || errcode.Of(err) != errcode.Unavailable {
		return err
	}
	return fmt.Errorf("%w (from %s)", err, from)
}

// RefusedError is in the chain if the bytes were not the requested content.
type RefusedError struct {
	Digest digest.Digest
	From   string
}

// Error names both.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("altered content of %s from %s", e.Digest.Short(), e.From)
}

// refused reports whether the bytes were wrong, as opposed to a failed transfer.
func refused(err error) bool {
	var transfer *transferError
	return err != nil && !errors.As(err, &transfer) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// transferError marks an interrupted download.
type transferError struct{ error }

// Unwrap keeps the codes of the transfer.
func (e *transferError) Unwrap() error { return e.error }
