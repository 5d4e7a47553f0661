package poll

import (
	"context"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/render"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// partsOf lists the tarballs of a service; one without parts has one, at its root.
func partsOf(w *agentv1.DesiredService) []*agentv1.Part {
	if parts := w.GetParts(); len(parts) > 0 {
		return parts
	}
	if w.GetTarballDigest() == "" {
		return nil
	}
	return []*agentv1.Part{{Digest: w.GetTarballDigest(), Bytes: w.GetTarballBytes()}}
}

// contentOf names a service's files: the tarball of its first part, which represents
// them in inventories and reports, and all parts if there are several.
func contentOf(w *agentv1.DesiredService) (tarball, parts string) {
	all := w.GetParts()
	if len(all) == 0 {
		return w.GetTarballDigest(), ""
	}
	var key strings.Builder
	for _, p := range all {
		key.WriteString(p.GetPath() + "\x00" + p.GetDigest() + "\x00" + p.GetEntry() + "\n")
	}
	return all[0].GetDigest(), key.String()
}

// filesOf reports whether the inputs belong to the service's present files.
func filesOf(i *change.Inputs, w *agentv1.DesiredService) bool {
	tarball, parts := contentOf(w)
	return i.TarballDigest == tarball && i.Parts == parts
}

// partKey names a part of a service for the cache, which keeps a clock for each part.
func partKey(service string, index int) string {
	if index == 0 {
		return service
	}
	return service + "/" + strconv.Itoa(index)
}

// trees are the unpacked parts of one service, in order.
type trees []cache.Tree

// release lets the cache drop them.
func (t trees) release() {
	for _, tree := range t {
		tree.Release()
	}
}

// trees brings the service's files onto the disk, each part separately; content that
// another service or an earlier revision brought is reused. The second result is the
// source of an error.
func (l *Loop) trees(ctx context.Context, j *job) (trees, string, error) {
	var all trees
	for i, part := range partsOf(j.want) {
		d := digest.Digest(part.GetDigest())
		tree, err := l.Cache.Tree(ctx, partKey(j.id, i), d, l.Hub.Tarball)
		if err != nil {
			all.release()
			switch errcode.Of(err) {
			case errcode.NotFound, errcode.Unprocessable:
				return nil, sourceSource, err
			}
			return nil, sourceAgent, err
		}
		all = append(all, tree)
	}
	return all, "", nil
}

// renderParts converts the trees for the renderer; nil for a service without parts.
func (t trees) renderParts(w *agentv1.DesiredService) []render.Part {
	parts := make([]render.Part, 0, len(w.GetParts()))
	for i, p := range w.GetParts() {
		parts = append(parts, render.Part{Name: p.GetName(), Dir: t[i].Dir, Path: p.GetPath(), Entry: p.GetEntry()})
	}
	return parts
}
