package world_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/test/world"
)

var _ = add(map[string]scenario{
	"tampering_between": {play: tamperingBetween},
})

// tamper sits between an agent and the hub and alters one kind of answer.
type tamper struct {
	next http.RoundTripper
	mu   sync.Mutex
	path string // that begins so is altered; empty alters nothing
	how  func([]byte) []byte
}

func (p *tamper) set(path string, how func([]byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.path, p.how = path, how
}

// RoundTrip implements http.RoundTripper.
func (p *tamper) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	path, how := p.path, p.how
	p.mu.Unlock()
	altered := path != "" && strings.HasPrefix(r.URL.Path, path)
	if altered {
		r = r.Clone(r.Context())
		r.Header.Del("Accept-Encoding")
	}
	answer, err := p.next.RoundTrip(r)
	if err != nil || !altered || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	body = how(body)
	closed := answer.Body.Close()
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return answer, closed
}

func replace(from, to string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(from), []byte(to)) }
}

// flip changes one bit in the middle.
func flip(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/2] ^= 1
	return b
}

// tamperingBetween alters lists, specs and tarballs in transit: each is rejected by
// name, the running objects stay, the hub is told, and an honest connection delivers
// what was missed.
func tamperingBetween(s *cdn) {
	t := s.t
	t.Helper()
	between := &tamper{next: http.DefaultTransport.(*http.Transport).Clone()}
	made, err := s.api.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"}))
	s.must(err)
	a, err := world.JoinLight(t.Context(), world.LightConfig{URL: s.Origin(), Transport: between, Token: made.Msg.GetBootstrapToken(), Dir: s.Dir})
	s.must(err)
	s.agents["edge"] = a
	s.group.Go(func() { a.Run(s.polling) })
	s.upstream("fleet", "app", "extra")
	s.service("edge", "app", "fleet", "app")
	s.arrives("edge/app", 1)

	refuses := func(words string) {
		t.Helper()
		seen := len(a.Steps())
		s.until("the agent refuses: "+words, func() error {
			for _, step := range a.Steps()[seen:] {
				if strings.Contains(step.Error, words) {
					return nil
				}
			}
			return fmt.Errorf("it said nothing of the kind")
		})
	}
	version := 1
	for _, c := range []struct {
		path  string
		how   func([]byte) []byte
		words string
	}{
		{"/agent/v1/desired", replace("axle1:", "axle1;"), "the signature by key"},
		{"/agent/v1/desired", replace("sig_", "sug_"), "which this agent does not have"},
		{"/agent/v1/tarballs/", flip, "tarball of"},
	} {
		between.set(c.path, c.how)
		version++
		s.push("fleet", "app", version)
		refuses(c.words)
		if got := a.Version("app"); got != version-1 {
			t.Errorf("version %d runs while %s is altered, want %d", got, c.path, version-1)
		}
		between.set("", nil)
		s.arrives("edge/app", version)
	}
	between.set("/axle.agent.v1.AgentService/Services", replace("extra", "extrb"))
	s.service("edge", "extra", "fleet", "extra")
	refuses("specs refused: the signature by key")
	between.set("", nil)
	s.arrives("edge/extra", 1)

	s.until("the hub was told", func() error {
		return s.recorded(t.Context(), "agent.refused")
	})
}

// recorded returns nil when the hub has an event of that kind.
func (s *cdn) recorded(ctx context.Context, kind string) error {
	events, err := s.api.Events.List(ctx, connect.NewRequest(&hubv1.ListEventsRequest{}))
	if err != nil {
		return err
	}
	for _, e := range events.Msg.GetEvents() {
		if e.GetKind() == kind {
			return nil
		}
	}
	return fmt.Errorf("there is no event %s", kind)
}
