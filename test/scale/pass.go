package scale

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// most is how many services one call names.
const most = 500

// Pass polls once, takes what changed and reports it. changed says whether the
// hub had a list for it.
func (c *Cluster) Pass(ctx context.Context) (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.fleet.count
	n.polls.Add(1)
	defer func() {
		if err != nil {
			n.failed.Add(1)
		}
	}()
	answer, err := c.client.Desired(ctx, c.etag)
	if err != nil {
		return false, err
	}
	if answer.List == nil {
		n.unchanged.Add(1)
		if err := c.compare(ctx, answer.StatusHash); err != nil {
			return false, err
		}
		return false, c.refresh(ctx)
	}
	drained, err := c.take(ctx, answer.List)
	if err != nil {
		return true, err
	}
	if err := c.report(ctx, drained); err != nil {
		return true, err
	}
	c.etag = answer.List.ETag
	return true, nil
}

// Report sends the statuses that changed since the last pass, without a poll, as an
// agent does when a pod becomes ready.
func (c *Cluster) Report(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report(ctx, nil)
}

// ReportChild reports the state of a cluster that one of this cluster's services makes, as the
// agent of a management cluster does.
func (c *Cluster) ReportChild(ctx context.Context, service string, state *agentv1.ChildState) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, s := range c.services {
		if s.spec.GetName() == service {
			state.ServiceId = id
			return c.client.ReportChildren(ctx, &agentv1.ReportChildrenRequest{BootId: c.bootID, Children: []*agentv1.ChildState{state}})
		}
	}
	return fmt.Errorf("cluster %s has no service %s yet", c.Name, service)
}

// take brings what is known of each service up to a list, and returns the
// tombstones whose work is done: at once, since there are no objects.
func (c *Cluster) take(ctx context.Context, list *hubclient.List) (drained []string, err error) {
	for _, s := range c.services {
		s.listed = false
	}
	var stale []string
	for _, want := range list.Desired.GetServices() {
		s := c.services[want.GetId()]
		if s == nil {
			s = &service{}
			c.services[want.GetId()] = s
		}
		if s.spec.GetSpecDigest() != want.GetSpecDigest() {
			stale = append(stale, want.GetId())
		}
		s.want, s.listed = want, true
	}
	for _, t := range list.Desired.GetTombstones() {
		delete(c.services, t.GetServiceId())
		drained = append(drained, t.GetTombstoneId())
	}
	for ids := range slices.Chunk(stale, most) {
		answer, err := c.client.Services(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, spec := range answer.GetServices() {
			if s := c.services[spec.GetId()]; s != nil {
				s.spec, s.applied = spec, time.Now()
				c.fleet.count.specs.Add(1)
			}
		}
	}
	return drained, c.fetch(ctx)
}

// fetch downloads the contents that services want and do not have.
func (c *Cluster) fetch(ctx context.Context) error {
	for _, s := range c.services {
		want := s.want.GetTarballDigest()
		if !s.listed || want == "" || s.want.GetPaused() || (s.content != nil && s.content.Digest.String() == want) {
			continue
		}
		content, err := c.fleet.contents.get(ctx, c.client, want, s.spec.GetEntry())
		if err != nil {
			return err
		}
		if s.content != nil && c.fleet.cfg.Took != nil {
			c.fleet.cfg.Took(want)
		}
		s.content, s.applied = content, time.Now()
	}
	return nil
}

// compare reports everything whole when the hub twice running said that it
// has other statuses than were sent.
func (c *Cluster) compare(ctx context.Context, hash string) error {
	if hash == "" || hash == c.hash() {
		c.odd = 0
		return nil
	}
	if c.odd++; c.odd < 2 {
		return nil
	}
	c.odd, c.whole = 0, true
	return c.report(ctx, nil)
}

// hash is what the hub says when it has what was sent.
func (c *Cluster) hash() string {
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(c.services)) {
		if stored := c.services[id].stored; stored != "" {
			h.Write([]byte(id + " " + stored + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// report sends the statuses that changed, or all.
func (c *Cluster) report(ctx context.Context, drained []string) error {
	all := c.whole
	c.whole = false
	var changed []string
	for id, s := range c.services {
		if s.spec == nil {
			continue
		}
		status, err := c.status(s)
		if err != nil {
			return err
		}
		if all || !bytes.Equal(status, s.reported) {
			s.reported = status
			changed = append(changed, id)
		}
	}
	if len(changed) == 0 && len(drained) == 0 && !all {
		return nil
	}
	slices.Sort(changed)
	for first := true; first || len(changed) > 0; first = false {
		part := changed[:min(most, len(changed))]
		changed = changed[len(part):]
		if err := c.send(ctx, part, drained, all); err != nil {
			c.whole = true // what was noted as reported may not have arrived
			return err
		}
		drained = nil
	}
	return nil
}

// send reports some services. all says that everything is being sent, whatever
// the hub has.
func (c *Cluster) send(ctx context.Context, ids, drained []string, all bool) error {
	c.sequence++
	// What is whole has to fit one call; else the parts only add.
	request := &agentv1.ReportRequest{BootId: c.bootID, Sequence: c.sequence, Whole: all && len(c.services) <= most, DrainedTombstones: drained}
	for _, id := range ids {
		s := c.services[id]
		sum := sha256.Sum256(s.reported)
		base := s.stored
		if all {
			base = ""
		}
		request.Services = append(request.Services, &agentv1.ServiceReport{
			ServiceId: id, BaseHash: base, NewHash: hex.EncodeToString(sum[:]), Status: s.reported,
		})
	}
	answer, err := c.client.Report(ctx, request)
	if err != nil {
		return err
	}
	for _, r := range request.GetServices() {
		c.services[r.GetServiceId()].stored = r.GetNewHash()
	}
	for _, id := range answer.GetResync() {
		if s := c.services[id]; s != nil {
			s.stored, s.reported, c.whole = "", nil, true // with the next report
		}
	}
	n := &c.fleet.count
	n.reports.Add(1)
	c.reports.Add(1)
	n.reportedServices.Add(int64(len(ids)))
	n.resyncs.Add(int64(len(answer.GetResync())))
	return nil
}

// status describes a service as the fleet's Act has it.
func (c *Cluster) status(s *service) ([]byte, error) {
	status := c.fleet.cfg.Act(Seen{Cluster: c.Name, Spec: s.spec, Content: s.content, Paused: s.want.GetPaused(), Listed: s.listed, At: s.applied})
	return proto.MarshalOptions{Deterministic: true}.Marshal(status)
}
