package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/port"
)

// metricsFlag is where an agent serves what Rest asks it.
const metricsFlag = "--metrics-listen"

// serveRest gives an agent an address that Rest knows.
func (w *World) serveRest(a *Agent) error {
	if !w.Config.Rest {
		return nil
	}
	if i := slices.Index(a.args, metricsFlag); i >= 0 && i+1 < len(a.args) {
		a.metrics = a.args[i+1]
		return nil
	}
	var err error
	a.metrics, err = port.Address()
	a.args = append(a.args, metricsFlag, a.metrics)
	return err
}

// AtRest waits until nothing is under way that was caused before: the hub's indexes have
// what was committed, and each agent that runs as a process was given it, has applied and
// reported it. A test that waited for one effect of a change may then read all others
// once. Not waited for are commits that the hub has not seen, what the API server has not
// notified an agent of, and what is due later, such as a next try. It needs Config.Rest.
func (w *World) AtRest(ctx context.Context) error {
	w.mu.Lock()
	agents := slices.Clone(w.agents)
	w.mu.Unlock()
	agents = slices.DeleteFunc(agents, func(a *Agent) bool { return a.running == nil || a.Ended() })
	if err := w.hubsAtRest(ctx); err != nil {
		return err
	}
	for _, a := range agents {
		if err := a.atRest(ctx); err != nil {
			return err
		}
	}
	// What the agents reported is known, too.
	return w.hubsAtRest(ctx)
}

func (w *World) hubsAtRest(ctx context.Context) error {
	hubs := []*Hub{w.Hub}
	if w.Replicated != nil {
		hubs = nil
		for _, r := range w.Replicated.Hubs {
			hubs = append(hubs, r.Hub)
		}
	}
	for _, h := range hubs {
		client, err := h.Client()
		if err != nil {
			return err
		}
		err = eventually.Wait(ctx, readyWithin, func() error { return answered(ctx, client, h.URL+"/rest", nil) })
		if err != nil {
			return fmt.Errorf("hub %s is not at rest: %w", h.URL, err)
		}
	}
	return nil
}

// atRest waits for two more answered polls, of which the second began after the call, and
// until nothing was under way over a whole poll.
func (a *Agent) atRest(ctx context.Context) error {
	first := -1
	err := eventually.Wait(ctx, readyWithin, func() error {
		var now struct {
			Polls int
			Busy  string
		}
		if err := answered(ctx, http.DefaultClient, "http://"+a.metrics+"/rest", &now); err != nil {
			return err
		}
		if first < 0 || now.Polls < first { // it may have restarted
			first = now.Polls
		}
		if now.Busy != "" {
			first = max(first, now.Polls-1)
			return errors.New(now.Busy)
		}
		if now.Polls < first+2 {
			return fmt.Errorf("%d more polls", now.Polls-first)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("agent %s is not at rest: %w", a.Cluster, err)
	}
	return nil
}

// answered asks for JSON.
func answered(ctx context.Context, client *http.Client, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s answers %s", url, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}
