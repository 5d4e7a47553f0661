package clusterapi

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// movingEvery and settledEvery are how often Cluster API's objects are read, while a
	// cluster changes and while none does.
	movingEvery  = 5 * time.Second
	settledEvery = time.Minute
	// againAfter is how often all is reported that was reported before: a hub may come back
	// from a backup.
	againAfter = time.Hour
	// reportedAtOnce is how many clusters one report has.
	reportedAtOnce = 50
)

// report sends the states of clusters that changed, and returns when to look again.
func (c *Clusters) report(ctx context.Context, all []*child) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	now := c.config.Clock.Now()
	states, err := c.states(ctx, all)
	if err != nil {
		c.config.Log.Warn("cannot read the state of the clusters that are made here", logkey.Error, err)
		return settledEvery
	}
	wait := settledEvery
	if now.Before(c.movingUntil) {
		wait = movingEvery
	}
	var changed []*child
	for _, one := range all {
		if !settled(states[one]) {
			wait = movingEvery
		}
		if one.reported == nil || now.Sub(one.reportedAt) > againAfter || !proto.Equal(one.reported, states[one]) {
			changed = append(changed, one)
		}
	}
	for len(changed) > 0 {
		part := changed[:min(len(changed), reportedAtOnce)]
		changed = changed[len(part):]
		r := &agentv1.ReportChildrenRequest{BootId: c.config.BootID}
		for _, one := range part {
			r.Children = append(r.Children, states[one])
		}
		if err := c.config.Hub.ReportChildren(ctx, r); err != nil {
			c.config.Log.Warn("cannot report the state of the clusters that are made here", logkey.Error, err)
			return max(movingEvery, errcode.RetryAfter(err))
		}
		for _, one := range part {
			one.reported, one.reportedAt = states[one], now
		}
	}
	return wait
}

// states are those of all clusters, with what each waits for.
func (c *Clusters) states(ctx context.Context, all []*child) (map[*child]*agentv1.ChildState, error) {
	of := map[place]*child{}
	c.mu.Lock()
	for _, one := range all {
		one.replace = one.asked
		of[place{one.namespace, one.name}] = one
	}
	c.mu.Unlock()
	observed, err := c.observe(ctx, of)
	if err != nil {
		return nil, err
	}
	states := map[*child]*agentv1.ChildState{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range all {
		s := observed[place{one.namespace, one.name}]
		if s == nil {
			s = &agentv1.ChildState{Message: "Cluster API has no Cluster object of it yet"}
		} else if !one.connected {
			s.Message = one.why
		}
		s.ServiceId = one.service
		states[one] = s
	}
	return states, nil
}
