package authproxy

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/telemetry"
)

// silent is an answer whose body says nothing until its request ends.
type silent struct {
	oneAnswer
	ctx  context.Context
	read chan struct{}
}

func (s *silent) Read([]byte) (int, error) {
	select {
	case s.read <- struct{}{}:
	default: // it was read before
	}
	<-s.ctx.Done()
	return 0, context.Cause(s.ctx)
}

// What a page follows ends as a stream to the cluster does, also while the cluster says
// nothing: a watch, a log, and the answer of a store there.
func TestStreamsOfPagesEndWithTheirRight(t *testing.T) {
	follows := map[string]func(g *Pages, q Asking) error{
		"a watch": func(g *Pages, q Asking) error {
			q.URI = "/api/v1/namespaces/a/pods?watch=1"
			return g.Watch(t.Context(), q, func(Event) error { return nil })
		},
		"a log": func(g *Pages, q Asking) error {
			q.URI = "/api/v1/namespaces/a/pods/b/log?follow=true"
			return g.Logs(t.Context(), q, func([]byte) error { return nil })
		},
		"a store": func(g *Pages, q Asking) error {
			o, err := g.Observe(t.Context(), q, telemetry.Service{Type: telemetry.VictoriaLogs, Namespace: "a", Name: "b", Port: "1", Scheme: "http"}, "/select/logsql/tail", "", "")
			if err == nil {
				_, err = io.Copy(io.Discard, o)
				err = errors.Join(err, o.Close())
			}
			return err
		},
	}
	for reason, end := range map[string]func(*stage){
		"the token is revoked": func(s *stage) { delete(s.people, "tok_ann") },
		"the binding goes":     func(s *stage) { delete(s.may, "ann cls_1") },
	} {
		for what, follow := range follows {
			read := make(chan struct{}, 1)
			s := newStage(t, func(c *Config) {
				c.Open = func(ctx context.Context, _ string, _ *agentv1.StreamHead) (Stream, error) {
					return &silent{oneAnswer{&agentv1.StreamAnswer{Status: 200, Headers: []*agentv1.StreamHeader{{Name: passed, Values: []string{"1"}}}}}, ctx, read}, nil
				}
			})
			ended := make(chan error, 1)
			go func() { ended <- follow(NewPages(s.Proxy), Asking{Caller: s.people["tok_ann"], Handle: "edge"}) }()
			select {
			case <-read:
			case err := <-ended:
				t.Fatalf("%s ended at once: %v", what, err)
			}
			s.look(t.Context())
			select {
			case err := <-ended:
				t.Errorf("%s ended with its right: %v", what, err)
				continue
			default:
			}
			end(s)
			s.look(t.Context())
			select {
			case err := <-ended:
				if err == nil {
					t.Errorf("%s ended in order when %s", what, reason)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s goes on when %s", what, reason)
			}
		}
	}
}
