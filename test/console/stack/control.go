package stack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/test/scale"
)

// servicesPerCluster is that of the profile huge.
const servicesPerCluster = 10

// control does what happens outside of the browser.
type control struct {
	stack  *Stack
	url    string
	key    string
	server *http.Server
	ended  chan error
}

// order is one act. The fields that an act does not read stay empty.
type order struct {
	// axle, kubectl, commit, hub, tunnel, cluster, child, churn.
	Do      string            `json:"do"`
	Args    []string          `json:"args"`
	Cluster string            `json:"cluster"`
	Repo    string            `json:"repo"`
	Message string            `json:"message"`
	Files   map[string]string `json:"files"`
	// For hub kill or start, for tunnel cut or mend, for cluster silence, for churn
	// start or stop; for child the service that makes a cluster.
	What string `json:"what"`
	// Changes a second, for churn.
	Rate int `json:"rate"`
	// What the agent of a management cluster reports of a child, an agentv1.ChildState.
	State json.RawMessage `json:"state"`
	// Standard input of axle.
	In string `json:"in"`
}

// outcome is what an act printed.
type outcome struct {
	Out   string `json:"out"`
	Err   string `json:"err"`
	Code  int    `json:"code"`
	Error string `json:"error,omitempty"`
}

func startControl(s *Stack) (*control, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &control{stack: s, url: "http://" + l.Addr().String(), key: rand.Text(), ended: make(chan error, 1)}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { c.ended <- c.server.Serve(l) }()
	return c, nil
}

func (c *control) close() error {
	err := c.server.Close()
	if served := <-c.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// ServeHTTP implements http.Handler.
func (c *control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+c.key {
		http.Error(w, "not your stack", http.StatusForbidden)
		return
	}
	var o order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	out, err := c.act(ctx, o)
	if err != nil {
		out.Error = err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the test may be gone
}

func (c *control) act(ctx context.Context, o order) (out outcome, err error) {
	s := c.stack
	switch o.Do {
	case "axle":
		r, err := s.World.AxleIn(ctx, o.In, o.Args...)
		return outcome{Out: r.Out, Err: r.Err, Code: r.Code}, err
	case "kubectl":
		if s.World.Cluster(o.Cluster) == nil {
			return out, fmt.Errorf("there is no cluster %q", o.Cluster)
		}
		r, err := s.World.Kubectl(ctx, o.Cluster, o.Args...)
		return outcome{Out: r.Out, Err: r.Err, Code: r.Code}, err
	case "commit":
		files := o.Files
		if files == nil {
			files = Apps()
		}
		out.Out, err = s.World.Git.Commit(ctx, o.Repo, "main", o.Message, files)
		return out, err
	case "hub":
		switch o.What {
		case "kill":
			return out, s.World.Hub.Kill()
		case "start":
			return out, s.World.Hub.Start(ctx)
		}
	case "tunnel": // of edge-2
		switch {
		case s.way == nil:
		case o.What == "cut":
			s.way.cut()
			return out, nil
		case o.What == "mend":
			s.way.mend()
			return out, nil
		}
	case "churn":
		switch {
		case s.Seeded == nil:
		case o.What == "start":
			s.churn.start(ctx, s.Seeded.Fleet.Clusters(), servicesPerCluster, o.Rate)
			return out, nil
		case o.What == "stop":
			return out, s.churn.stop()
		}
	case "cluster":
		if one := s.simulated(o.Cluster); one != nil && o.What == "silence" {
			one.Silence()
			return out, nil
		}
	case "child":
		if one := s.simulated(o.Cluster); one != nil {
			return out, reportChild(ctx, one, o)
		}
	}
	return out, fmt.Errorf("nothing is known of %q %q", o.Do, o.What)
}

func reportChild(ctx context.Context, by *scale.Cluster, o order) error {
	state := &agentv1.ChildState{}
	if err := protojson.Unmarshal(o.State, state); err != nil {
		return err
	}
	return by.ReportChild(ctx, o.What, state)
}

// simulated is a simulated cluster by name, nil for none.
func (s *Stack) simulated(name string) *scale.Cluster {
	if s.Seeded != nil {
		for _, one := range s.Seeded.Fleet.Clusters() {
			if one.Name == name {
				return one
			}
		}
	}
	return nil
}
