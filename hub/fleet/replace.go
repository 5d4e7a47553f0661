package fleet

import (
	"context"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxReplacing is how many machines of a cluster are replaced at the same time, and
	// maxReplaced how many replacements are kept with those that ended.
	maxReplacing = 20
	maxReplaced  = 30
)

// Replacement is the replacement of a machine of a cluster that was made from a template:
// Cluster API makes another one in its place.
type Replacement struct {
	Machine string `json:"machine,omitempty"`
	// UID is that of the Machine object: another one of its name is not meant.
	UID         string `json:"uid,omitempty"`
	Pool        string `json:"pool,omitempty"`
	RequestedBy string `json:"requestedBy,omitempty"`
	RequestedAt int64  `json:"requestedAt,omitempty"`
	// Message is what it waits for, or why it was refused.
	Message string `json:"message,omitempty"`
	// EndedAt is 0 while it goes on.
	EndedAt int64 `json:"endedAt,omitempty"`
	// Refused is set when the machine stays as it is.
	Refused bool `json:"refused,omitempty"`
}

// Running reports whether it goes on.
func (r Replacement) Running() bool { return r.EndedAt == 0 }

// Replaced is how far a replacement is, as an agent reports it.
type Replaced struct {
	UID, Message  string
	Done, Refused bool
}

// replacing are the replacements that go on.
func (c Cluster) replacing() (on []Replacement) {
	for _, r := range c.Replacing {
		if r.Running() {
			on = append(on, r)
		}
	}
	return on
}

// ReplaceMachine has a machine of a node pool replaced, in the transaction of the context or a
// new one. With a uid it is refused for another machine of that name. One that is being
// replaced is left at that. NotFound for a machine that the management cluster did not report,
// Unprocessable for one of the control plane and for a cluster that was not made from a template.
func (f *clusters) ReplaceMachine(ctx context.Context, by, cluster, machine, uid string) error {
	return f.writer.Write(ctx, func(ctx context.Context) error {
		c, err := f.store.ClusterByName(ctx, cluster)
		if err != nil {
			return err
		}
		r, err := c.replacement(machine, uid)
		if err != nil || r.Running() && r.RequestedAt != 0 {
			return err
		}
		r.RequestedBy, r.RequestedAt = by, f.now()
		c.Replacing = append(slices.Clone(c.Replacing), r)
		for i := 0; len(c.Replacing) > maxReplaced && i < len(c.Replacing); {
			if c.Replacing[i].Running() {
				i++
				continue
			}
			c.Replacing = slices.Delete(c.Replacing, i, i+1)
		}
		if err := f.store.UpdateCluster(ctx, c); err != nil {
			return err
		}
		if err := f.askMaker(ctx, c, by); err != nil {
			return err
		}
		return recordCluster(ctx, c, "cluster.machine_replacing", by, fmt.Sprintf("machine %s of node pool %s", machine, r.Pool))
	})
}

// replacement returns how a machine is to be replaced, or is being.
func (c Cluster) replacement(machine, uid string) (Replacement, error) {
	if !c.Origin.Known() {
		return Replacement{}, errcode.New(errcode.Unprocessable, "cluster %s was not made from a template, so the hub has no machines of it to replace", c.Name)
	}
	if c.Origin.Destroying {
		return Replacement{}, errcode.New(errcode.Conflict, "cluster %s is being destroyed", c.Name)
	}
	for _, r := range c.replacing() {
		if r.Machine == machine && (uid == "" || r.UID == uid) {
			return r, nil
		}
	}
	at := slices.IndexFunc(c.MadeState.Machines, func(m Machine) bool { return m.Name == machine })
	if at < 0 {
		more := ""
		if n := c.MadeState.MoreMachines; n > 0 {
			more = fmt.Sprintf("; %d more machines, which are ready, are not in its report", n)
		}
		return Replacement{}, errcode.New(errcode.NotFound, "machine: management cluster %s reported no machine %.80q of cluster %s; axle clusters machines list %s shows them%s", c.Origin.Management, machine, c.Name, c.Name, more)
	}
	m := c.MadeState.Machines[at]
	switch {
	case uid != "" && m.UID != uid:
		return Replacement{}, errcode.New(errcode.Conflict, "machine: %s is another machine by now; axle clusters machines list %s shows them", machine, c.Name)
	case m.Pool == "":
		return Replacement{}, errcode.New(errcode.Unprocessable, "machine: %s is one of the control plane, which only its provider replaces, one at a time so that etcd keeps its majority: by the health check of the template, or by another version with axle clusters update %s --set version=", machine, c.Name)
	case m.UID == "":
		return Replacement{}, errcode.New(errcode.Unprocessable, "machine: the agent of management cluster %s reports no uid of %s, so the hub cannot identify the machine; upgrade the agent", c.Origin.Management, machine)
	case len(c.replacing()) >= maxReplacing:
		return Replacement{}, errcode.New(errcode.Conflict, "machine: %d machines of cluster %s are being replaced, and no more at the same time", maxReplacing, c.Name)
	}
	return Replacement{Machine: m.Name, UID: m.UID, Pool: m.Pool}, nil
}

// askMaker has the agent of the management cluster get anew what the service that makes a
// cluster is to do.
func (f *clusters) askMaker(ctx context.Context, c Cluster, by string) error {
	management, err := f.store.ClusterByID(ctx, c.ManagementID)
	if err != nil {
		return err
	}
	s, err := f.store.ServiceByRef(ctx, Ref{management.Name, c.Origin.Service})
	if errcode.Is(err, errcode.NotFound) {
		return nil // the cluster is all but gone, and its machines are
	}
	if err != nil {
		return err
	}
	s.MachineRequest, s.UpdatedAt = s.MachineRequest+1, f.now()
	if err := f.revisions.resettle(ctx, &s, management); err != nil {
		return err
	}
	if err := f.store.UpdateService(ctx, s); err != nil {
		return err
	}
	return appendService(ctx, s.Service)
}

// replaced notes how far replacements are, and returns those that ended by it.
func (c *Cluster) replaced(reported []Replaced, now int64) (moved bool, ended []Replacement) {
	c.Replacing = slices.Clone(c.Replacing)
	for i := range c.Replacing {
		r := &c.Replacing[i]
		at := slices.IndexFunc(reported, func(one Replaced) bool { return one.UID == r.UID })
		if at < 0 || !r.Running() {
			continue
		}
		before := *r
		if r.Message, r.Refused = reported[at].Message, reported[at].Refused; r.Refused || reported[at].Done {
			r.EndedAt = now
			ended = append(ended, *r)
		}
		moved = moved || *r != before
	}
	return moved, ended
}

// noteReplaced records replacements that ended.
func (f *clusters) noteReplaced(ctx context.Context, c Cluster, ended []Replacement) error {
	if len(ended) == 0 {
		return nil
	}
	for _, r := range ended {
		kind, message := "cluster.machine_replaced", "machine "+r.Machine+" of node pool "+r.Pool
		if r.Refused {
			kind, message = "cluster.machine_kept", "machine "+r.Machine+": "+r.Message
		}
		if err := event.Record(ctx, event.Entry{Kind: kind, Object: "cluster " + c.Name, By: "agent of " + c.Origin.Management, Message: message, Cluster: c.ID}); err != nil {
			return err
		}
	}
	return f.askMaker(ctx, c, "hub")
}
