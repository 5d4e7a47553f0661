package content

import (
	"context"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/render"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
)

// Parts lists the tarballs of a service; one without parts has one, at its root.
func Parts(w *agentv1.DesiredService) []*agentv1.Part {
	if parts := w.GetParts(); len(parts) > 0 {
		return parts
	}
	if w.GetTarballDigest() == "" {
		return nil
	}
	return []*agentv1.Part{{Digest: w.GetTarballDigest(), Bytes: w.GetTarballBytes()}}
}

// Of names a service's files: the tarball of its first part, which represents
// them in inventories and reports, and all parts if there are several.
func Of(w *agentv1.DesiredService) (tarball, parts string) {
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

// Same reports whether the inputs belong to the service's present files.
func Same(i *change.Inputs, w *agentv1.DesiredService) bool {
	tarball, parts := Of(w)
	return i.TarballDigest == tarball && i.Parts == parts
}

// Key names a part of a service for the cache, which keeps a clock for each part.
func Key(service string, index int) string {
	if index == 0 {
		return service
	}
	return service + "/" + strconv.Itoa(index)
}

// Trees are the unpacked parts of one service, in order.
type Trees []cache.Tree

// Release lets the cache drop them.
func (t Trees) Release() {
	for _, tree := range t {
		tree.Release()
	}
}

// Fetch brings the service's files onto the disk, each part separately; content that
// another service or an earlier revision brought is reused.
func Fetch(ctx context.Context, c *cache.Cache, tarball cache.Fetch, id string, w *agentv1.DesiredService) (Trees, error) {
	var all Trees
	for i, part := range Parts(w) {
		tree, err := c.Tree(ctx, Key(id, i), digest.Digest(part.GetDigest()), tarball)
		if err != nil {
			all.Release()
			return nil, err
		}
		all = append(all, tree)
	}
	return all, nil
}

// RenderParts converts the trees for the renderer; nil for a service without parts.
func (t Trees) RenderParts(w *agentv1.DesiredService) []render.Part {
	parts := make([]render.Part, 0, len(w.GetParts()))
	for i, p := range w.GetParts() {
		parts = append(parts, render.Part{Name: p.GetName(), Dir: t[i].Dir, Path: p.GetPath(), Entry: p.GetEntry()})
	}
	return parts
}
