package gitagent

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/internal/vendored"
)

// Wanted names content of another upstream.
type Wanted struct {
	Kind record.Kind // Git, Helm or OCI
	URL  string
	// Ref is a tag or full commit id, or a chart's version or range.
	Ref string
	// Folder is a folder in a Git repository, or the chart in a Helm repository.
	Folder  string
	Options record.SourceOptions
}

// Found is content that can be served.
type Found struct {
	Digest digest.Digest
	Recipe record.Recipe
	// Entry is the requested folder in the tarball.
	Entry string
}

// Parts gives access to content of other upstreams, under the rules of the
// project of the referring repository.
type Parts interface {
	// Find ensures that content is available, and fetches it if necessary.
	Find(ctx context.Context, repositoryID string, w Wanted) (Found, error)
	// Open returns the tarball of a part that was found before.
	Open(ctx context.Context, p record.Part) (io.ReadCloser, error)
}

// assembled merges a recipe's own entries with its parts and their map.
func (a *Agent) assembled(ctx context.Context, own iter.Seq2[tarball.Entry, error], r record.Recipe) iter.Seq2[tarball.Entry, error] {
	streams := []iter.Seq2[tarball.Entry, error]{own}
	if r.Vendored != nil {
		streams = append(streams, mapEntry(*r.Vendored))
	}
	for _, p := range r.Parts {
		streams = append(streams, a.partEntries(ctx, p))
	}
	return merge(streams)
}

// mapEntry yields only the map.
func mapEntry(c vendored.Contents) iter.Seq2[tarball.Entry, error] {
	return func(yield func(tarball.Entry, error) bool) {
		raw, err := vendored.Encode(c)
		yield(tarball.Entry{Path: vendored.Map, Type: digest.File, Size: int64(len(raw)), Body: bytes.NewReader(raw)}, err)
	}
}

// partEntries yields a part at its path.
func (a *Agent) partEntries(ctx context.Context, p record.Part) iter.Seq2[tarball.Entry, error] {
	return func(yield func(tarball.Entry, error) bool) {
		f, err := a.openPart(ctx, p)
		if err != nil {
			yield(tarball.Entry{}, err)
			return
		}
		defer f.Close()
		for e, err := range tarball.Read(ctx, f, a.config.Limits) {
			if err != nil {
				yield(e, fmt.Errorf("read the part at %q: %w", p.Path, err))
				return
			}
			if p.Within != "" {
				rest, ok := strings.CutPrefix(e.Path, p.Within+"/")
				if !ok {
					continue
				}
				e.Path = rest
			}
			e.Path = path.Join(p.Path, e.Path)
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (a *Agent) openPart(ctx context.Context, p record.Part) (io.ReadCloser, error) {
	if a.config.Parts == nil {
		return nil, errcode.New(errcode.Unprocessable, "%q is content of another repository, which this hub does not fetch", p.Path)
	}
	return a.config.Parts.Open(ctx, p)
}

// pulled is a sorted stream of entries with its current entry.
type pulled struct {
	next  func() (tarball.Entry, error, bool)
	entry tarball.Entry
	err   error
	ok    bool
}

func (p *pulled) advance() { p.entry, p.err, p.ok = p.next() }

// merge merges several sorted streams into one. The body of an entry is read
// before its stream continues, as tarball.Write does.
func merge(streams []iter.Seq2[tarball.Entry, error]) iter.Seq2[tarball.Entry, error] {
	return func(yield func(tarball.Entry, error) bool) {
		all := make([]*pulled, 0, len(streams))
		for _, s := range streams {
			next, stop := iter.Pull2(s)
			defer stop()
			p := &pulled{next: next}
			p.advance()
			all = append(all, p)
		}
		for {
			var least *pulled
			for _, p := range all {
				if p.ok && p.err != nil {
					yield(tarball.Entry{}, p.err)
					return
				}
				if !p.ok || least != nil && cmp.Compare(p.entry.Path, least.entry.Path) > 0 {
					continue
				}
				if least != nil && p.entry.Path == least.entry.Path {
					yield(tarball.Entry{}, errcode.New(errcode.Unprocessable, "%q exists twice, in this repository and in another one that it includes; remove one", p.entry.Path))
					return
				}
				least = p
			}
			if least == nil || !yield(least.entry, nil) {
				return
			}
			least.advance()
		}
	}
}
