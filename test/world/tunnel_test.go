package world_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// hook is a generic webhook of the stage's repository.
type hook struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// newHook makes a webhook and says where it is.
func (s *stage) newHook() (h hook) {
	s.t.Helper()
	s.must(json.Unmarshal([]byte(s.axle("webhooks", "create", "push", "--provider", "generic", "--repository", "fleet", "-o", "json")), &h))
	return h
}

// push delivers to a webhook.
func (s *stage) push(h hook) {
	s.t.Helper()
	body := []byte(`{"ref":"refs/heads/main"}`) // the same each time, as a script sends it
	mac := hmac.New(sha256.New, []byte(h.Secret))
	mac.Write(body)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, h.URL, bytes.NewReader(body))
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Axle-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(r)
	s.must(err)
	s.must(answer.Body.Close())
	if answer.StatusCode >= 300 {
		s.t.Fatalf("the delivery was answered with %s", answer.Status)
	}
}

// tunnel waits until the CLI shows a state of a cluster's tunnel.
func (s *stage) tunnel(cluster, want string) {
	s.t.Helper()
	s.eventual("the tunnel of "+cluster+" is "+want, func() error {
		result, err := s.Axle(s.t.Context(), "clusters", "get", cluster, "-o", "json")
		if err != nil {
			return err
		}
		var view struct {
			Tunnel      string `json:"tunnel"`
			TunnelSince string `json:"tunnelSince"`
		}
		if err := json.Unmarshal([]byte(result.Out), &view); err != nil {
			return err
		}
		if view.Tunnel != want || want == "Up" && view.TunnelSince == "" {
			return fmt.Errorf("it is %+v", view)
		}
		return nil
	})
}

// TestPushComesByHint pushes to a cluster that polls every hour: what arrives
// came by the webhook and a hint along the tunnel. A repository is looked at
// again 5 s after the last look at the earliest, and no oftener than four times
// at once and then every 15 s; pushes that are not held back by that are
// those that the hub promises to bring within 3 s.
func TestPushComesByHint(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, world.Config{Clusters: []string{"edge"}, Hub: []string{"--repo-poll-interval", "1h"}})
	s.must(s.agents["edge"].Kill())
	// Past the stage's proxy, which passes no WebSocket on.
	way := newHops(t, s.Origin())
	s.agents["edge"].AddFlags("--hub-url", way.URL, "--poll-interval", "1h")
	s.must(s.agents["edge"].Start())
	s.tunnel("edge", "Up")
	s.deploy("edge", "app", "app")
	h := s.newHook()
	count, measured := pushes(t)
	var took []time.Duration
	for n := range count {
		rest := 5500 * time.Millisecond
		if n >= 4 {
			rest += 15 * time.Second // what the measurement's next token takes
		}
		s.settled(rest)
		took = append(took, s.pushed(h, way, n+2).total)
	}
	report(t, "pushes that nothing held back", took)
	if !measured {
		return
	}
	if p50, p99 := took[len(took)/2], took[len(took)-1-len(took)/100]; p50 > time.Second || p99 > 3*time.Second {
		t.Errorf("p50 %v and p99 %v, where at most 1 s and 3 s are promised", p50, p99)
	}
	s.settled(time.Minute) // four tokens
	var held, rest []time.Duration
	for n := range 4 {
		p := s.pushed(h, way, count+2+n)
		held, rest = append(held, p.held), append(rest, p.total-p.held)
	}
	report(t, "pushes one upon the other, the time that they were held back", held)
	report(t, "the same, the rest of their time", rest)
}

// push is what became of one.
type push struct {
	// total is from the delivery to the cluster, and held the part of it in
	// which the repository was left alone.
	total, held time.Duration
}

// pushed commits a word, delivers the webhook and waits until the cluster has
// it.
func (s *stage) pushed(h hook, way *hops, n int) (p push) {
	s.t.Helper()
	s.commit("app", strconv.Itoa(n))
	began := time.Now()
	s.push(h)
	way.note("webhook", began, time.Now())
	s.saysSoon("edge", "app", strconv.Itoa(n))
	way.note("applied", time.Now(), time.Now())
	p.total = time.Since(began)
	hops := way.of(began, s.Git.Log("fleet"))
	if looked, ok := first(hops, string(gitserver.LsRefs)); ok {
		p.held = looked.Sub(began)
	}
	s.t.Logf("push %d, ms after it was delivered:%s", n, shown(began, hops))
	return p
}

// settled waits until the next kick may be followed at once: the last look at
// the repository is so old.
func (s *stage) settled(rest time.Duration) {
	s.t.Helper()
	s.eventual(fmt.Sprintf("the last look is %v old", rest), func() error {
		for _, e := range s.Git.Log("fleet") {
			if e.End.IsZero() || time.Since(e.End) < rest {
				return fmt.Errorf("%s began %v ago", e.Kind, time.Since(e.Start))
			}
		}
		return nil
	})
}

// report prints and sorts times.
func report(t *testing.T, what string, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	t.Logf("%s: p50 %v, p99 %v, most %v of %d", what, took[len(took)/2], took[len(took)-1-len(took)/100], took[len(took)-1], len(took))
}

// saysSoon is says by an open connection, so that the time that passes is the
// product's.
func (s *stage) saysSoon(cluster, namespace, word string) {
	s.t.Helper()
	config := s.Cluster(cluster).Config()
	client, err := rest.HTTPClientFor(config)
	s.must(err)
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/api/v1/namespaces/"+namespace+"/configmaps/one", nil)
		s.must(err)
		answer, err := client.Do(r)
		s.must(err)
		var o live
		s.must(json.NewDecoder(answer.Body).Decode(&o))
		s.must(answer.Body.Close())
		if o.Data["word"] == word {
			return
		}
		<-tick.C
	}
}

// pushes are few in a test; a measurement asks for more.
func pushes(t *testing.T) (count int, measured bool) {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("AXLE_PUSHES")); err == nil && n > 0 {
		return n, true
	}
	return 2, false
}
