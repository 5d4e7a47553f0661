package world_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
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
	// One delivery is taken once; no two are the same.
	body := fmt.Appendf(nil, `{"ref":"refs/heads/main","delivery":%q}`, rand.Text())
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

// tunnel waits until a cluster's tunnel is what the CLI shows.
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
// came by the webhook and a hint along the tunnel.
func TestPushComesByHint(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, world.Config{Clusters: []string{"edge"}, Hub: []string{"--repo-poll-interval", "1h"}})
	s.must(s.agents["edge"].Kill())
	// Past the stage's proxy, which passes no WebSocket on.
	s.agents["edge"].AddFlags("--hub-url", s.Origin(), "--poll-interval", "1h")
	s.must(s.agents["edge"].Start())
	s.tunnel("edge", "Up")
	s.deploy("edge", "app", "app")
	h := s.newHook()
	var took []time.Duration
	for n := 2; n < 2+pushes(t); n++ {
		if n > 5 {
			<-time.After(15 * time.Second) // a repository is looked at four times at once, then each 15 s
		}
		s.commit("app", strconv.Itoa(n))
		began := time.Now()
		s.push(h)
		s.saysSoon("edge", "app", strconv.Itoa(n))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("from the push to the cluster: p50 %v, most %v of %d", took[len(took)/2], took[len(took)-1], len(took))
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
func pushes(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("AXLE_PUSHES")); err == nil {
		return n
	}
	return 2
}
