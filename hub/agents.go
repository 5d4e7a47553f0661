package hub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/agentapi"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet/bundled"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/manifests"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// AgentUpgradesManual waits for a person to start each upgrade of the agents;
// any other value starts one when the hub itself has another version.
const AgentUpgradesManual = "manual"

// packages are the tarballs that this binary, or an earlier one, made itself:
// the git cache has no source for them.
type packages struct {
	*gitcache.Cache
	store *store.Store

	// binary is the digest of the tarball of this binary, which is always in memory.
	binary digest.Digest

	mu   sync.Mutex
	kept map[digest.Digest][]byte
}

var _ agentapi.Tarballs = (*packages)(nil)

// builtFrom is the level of such a tarball, like the cache's levels.
const builtFrom = "binary"

// agentPackage returns the tarball of the agent's manifests in this binary.
func agentPackage(deploy fs.FS) (digest.Digest, []byte, error) {
	text, err := manifests.Package(deploy)
	if err != nil {
		return "", nil, err
	}
	files, err := bundled.Pack(manifests.PackageFile, string(text))
	return files.Digest, files.Tarball, err
}

// own returns one of the hub's own tarballs. It reads the database only for
// what the cache does not have.
func (p *packages) own(ctx context.Context, d digest.Digest) (*gitcache.Tarball, error) {
	p.mu.Lock()
	data := p.kept[d]
	p.mu.Unlock()
	if data == nil {
		var err error
		if data, err = p.store.Package(ctx, d.String()); err != nil {
			return nil, err
		}
		p.keep(d, data)
	}
	sum := digest.SumOf(data)
	return &gitcache.Tarball{
		ReadSeekCloser: noClose{bytes.NewReader(data)}, Digest: d, Size: int64(len(data)),
		ETag: strconv.Quote(fmt.Sprintf("%x", sum[:16])), ContentType: gitcache.ContentType, From: builtFrom, ModTime: time.Time{},
	}, nil
}

// maxKept limits the tarballs in memory, beside the one of this binary.
const maxKept = 32 << 20

// keep keeps a tarball in memory, and lets go of others when there are too many bytes.
func (p *packages) keep(d digest.Digest, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := len(data)
	for other, have := range p.kept {
		if other != p.binary && other != d {
			size += len(have)
		}
	}
	for other, have := range p.kept {
		if size <= maxKept {
			break
		}
		if other != p.binary && other != d {
			size -= len(have)
			delete(p.kept, other)
		}
	}
	p.kept[d] = data
}

// Fetch implements agentapi.Tarballs.
func (p *packages) Fetch(ctx context.Context, d digest.Digest) (*gitcache.Tarball, error) {
	p.mu.Lock()
	_, ours := p.kept[d]
	p.mu.Unlock()
	if ours {
		return p.own(ctx, d)
	}
	t, err := p.Cache.Fetch(ctx, d)
	if !errcode.Is(err, errcode.NotFound) {
		return t, err
	}
	if found, ferr := p.own(ctx, d); ferr == nil {
		return found, nil
	}
	return nil, err
}

type noClose struct{ *bytes.Reader }

// Close does nothing.
func (noClose) Close() error { return nil }

var _ io.ReadSeekCloser = noClose{}

// agents manages the upgrades of the agents.
type agents struct {
	*fanout.Engine
	packages *packages
	store    *store.Store
	deploy   fs.FS
}

func (h *Hub) newAgents() (*agents, error) {
	d, data, err := agentPackage(h.config.Deploy)
	if err != nil {
		return nil, err
	}
	kept := &packages{Cache: h.cache, store: h.store, binary: d, kept: map[digest.Digest][]byte{d: data}}
	engine, err := fanout.New(fanout.Config{
		Rollouts: h.store, Targets: h.store, Writer: h.store, Subject: fanout.Agents{Fleet: h.fleet}, Clock: h.config.Clock, Log: h.log,
	})
	if err != nil {
		return nil, err
	}
	return &agents{Engine: engine, packages: kept, store: h.store, deploy: h.config.Deploy}, nil
}

// StartUpgrade rolls out a version of the agent; an empty version is this hub's own.
func (a *agents) StartUpgrade(ctx context.Context, by, version, image string, plan fanout.Plan) (fanout.Rollout, error) {
	d, data, err := agentPackage(a.deploy)
	if err != nil {
		return fanout.Rollout{}, err
	}
	// Store it first: an agent must never be given a digest that nobody has.
	if err := a.store.PutPackage(ctx, d.String(), data); err != nil {
		return fanout.Rollout{}, err
	}
	if version == "" {
		version = buildinfo.Version
	}
	if len(plan.Waves) == 0 {
		plan.Waves = fanout.DefaultWaves
	}
	payload := fanout.AgentPayload{Version: version, Image: image, Digest: d.String(), Size: int64(len(data))}
	return a.Start(ctx, by, fanout.Request{Version: version, Payload: payload.Text(), Plan: plan})
}

// upgradeAgents continues upgrades, and first starts one when this hub's
// version was never rolled out. It does not start again what a person aborted, nor one
// while somebody declares the version.
func (h *Hub) upgradeAgents(ctx context.Context) error {
	if h.config.AgentUpgrades != AgentUpgradesManual && !h.beginUpgrade(ctx) {
		return nil // the context ended
	}
	return h.agents.Run(ctx)
}

// beginUpgrade retries until it is known that no upgrade has to start, or it started.
func (h *Hub) beginUpgrade(ctx context.Context) bool {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		last, _, err := h.agents.Latest(ctx)
		if errcode.Is(err, errcode.NotFound) || err == nil && last.Version != buildinfo.Version && !h.rolledOut(last) && !last.ManagedBy.Declares() {
			_, err = h.agents.StartUpgrade(ctx, "hub", "", "", fanout.Plan{})
		}
		if err == nil {
			return true
		}
		h.log.Info("the agents' upgrade cannot begin yet", logkey.Error, err)
		if jitter.Wait(ctx, max(backoff.Next(), errcode.RetryAfter(err))) != nil {
			return false
		}
	}
}

// rolledOut reports whether the last rollout started from this hub's version: a
// person has chosen another version since, or a replica of the next version has
// and this one is about to be replaced.
func (h *Hub) rolledOut(last fanout.Rollout) bool { return last.Previous == buildinfo.Version }
