package world_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// within bounds a condition: many polls of a second on a busy machine.
const within = 90 * time.Second

// stage is a world with one repository, and clusters whose agents are
// processes behind a proxy.
type stage struct {
	*world.World
	t      *testing.T
	proxy  *world.Proxy
	agents map[string]*world.Agent
}

// newStage starts a world with the named clusters connected and logged in.
func newStage(t *testing.T, clusters ...string) *stage {
	t.Helper()
	return newStageOf(t, world.Config{Clusters: clusters, Audit: true, Hub: []string{"--repo-poll-interval", "2s"}})
}

// newStageOf is newStage for another world, with more flags of its agents.
func newStageOf(t *testing.T, config world.Config, agentFlags ...string) *stage {
	t.Helper()
	takePlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	config.Rest = true
	w, err := world.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{World: w, t: t, agents: map[string]*world.Agent{}}
	t.Cleanup(func() {
		if t.Failed() {
			s.showLogs()
		}
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	s.must(w.Login(ctx))
	if s.proxy, err = w.NewProxy(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.proxy.Close() })
	s.must(w.Git.Create(ctx, "fleet"))
	s.commit("app", "1")
	s.axle("repos", "add", "fleet", w.Git.URL("fleet"))
	for _, cluster := range config.Clusters {
		if s.agents[cluster], err = w.ConnectProcess(ctx, cluster, world.AgentOptions{HubURL: s.proxy.URL, Flags: agentFlags}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stage) showLogs() {
	for name, agent := range s.agents {
		s.t.Logf("end of the log of agent %s:\n%s", name, agent.Tail())
	}
	if data, err := os.ReadFile(s.Hub.Log); err == nil {
		s.t.Logf("end of the hub's log:\n%s", data[max(0, len(data)-6000):])
	}
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// axle runs a command that must succeed, and returns its output.
func (s *stage) axle(args ...string) string {
	s.t.Helper()
	result, err := s.Axle(s.t.Context(), args...)
	s.must(err)
	return result.Out
}

// object is a ConfigMap with a word in it.
func object(name, word string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {word: %q}\n", name, word)
}

// commit makes the folder hold two ConfigMaps, one of which says the word.
func (s *stage) commit(folder, word string) string {
	s.t.Helper()
	id, err := s.Git.Commit(s.t.Context(), "fleet", "main", "say "+word, map[string]string{
		folder + "/one.yaml": object("one", word), folder + "/two.yaml": object("two", "always"),
	})
	s.must(err)
	return id
}

// deploy creates a service of a folder and waits until it is there.
func (s *stage) deploy(cluster, name, folder string) {
	s.t.Helper()
	s.axle("services", "create", cluster+"/"+name, "--repo", "fleet", "--ref", "main", "--folder", folder)
	s.axle("services", "wait", cluster+"/"+name, "--timeout", "5m")
}

// live is a ConfigMap as the API server has it.
type live struct {
	Metadata struct {
		UID         string            `json:"uid"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
}

func (s *stage) get(cluster, namespace, name string) (o live, err error) {
	return o, s.read(cluster, "/api/v1/namespaces/"+namespace+"/configmaps/"+name, &o)
}

// read asks a cluster's API server for an object, as its administrator. It is for what is
// asked again and again: kubectl takes as much processor time as fifty of these.
func (s *stage) read(cluster, path string, into any) error {
	config := s.Cluster(cluster).Config()
	client, err := rest.HTTPClientFor(config) // client-go keeps the connections
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s answers %s", path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// says waits until a cluster's ConfigMap says the word.
func (s *stage) says(cluster, namespace, word string) {
	s.t.Helper()
	eventually.For(s.t, within, cluster+"/"+namespace+" says "+word, func() error {
		o, err := s.get(cluster, namespace, "one")
		if err == nil && o.Data["word"] != word {
			err = fmt.Errorf("it says %q", o.Data["word"])
		}
		return err
	})
}

// state waits until everything a service says matches all texts.
func (s *stage) state(cluster, name string, texts ...string) {
	s.t.Helper()
	eventually.For(s.t, within, cluster+"/"+name+" says "+strings.Join(texts, ", "), func() error {
		service, err := s.Service(s.t.Context(), cluster, name)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !strings.Contains(service.Text(), text) {
				return fmt.Errorf("it says %s", service.Text())
			}
		}
		return nil
	})
}

// polls waits until agents polled n more times through the proxy.
func (s *stage) polls(n int) {
	s.t.Helper()
	start := s.proxy.Count("/desired")
	eventually.For(s.t, within, fmt.Sprintf("%d polls", n), func() error {
		if got := s.proxy.Count("/desired") - start; got < n {
			return fmt.Errorf("%d so far", got)
		}
		return nil
	})
}

// rest waits until nothing is under way that was caused before.
func (s *stage) rest() {
	s.t.Helper()
	s.must(s.AtRest(s.t.Context()))
}

// same fails when an object is not the very one that it was.
func (s *stage) same(cluster, namespace, name, uid string) {
	s.t.Helper()
	o, err := s.get(cluster, namespace, name)
	s.must(err)
	if o.Metadata.UID != uid {
		s.t.Errorf("%s/%s/%s was deleted and made again", cluster, namespace, name)
	}
}

// eventual waits for a condition as long as a test of the world may.
func (s *stage) eventual(what string, condition func() error) {
	s.t.Helper()
	eventually.For(s.t, within, what, condition)
}

// contains returns nil when a command prints the text.
func (s *stage) contains(command, text string) error {
	result, err := s.Axle(s.t.Context(), strings.Fields(command)...)
	if err == nil && !strings.Contains(result.Out, text) {
		err = fmt.Errorf("it prints %s", result.Out)
	}
	return err
}

// write makes a file that only we can read.
func (s *stage) write(name, text string) string {
	s.t.Helper()
	path := s.Dir + "/" + name
	s.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}
