package world_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// patience bounds each condition of a scenario on a machine that runs many at
// once.
const patience = 3 * time.Minute

// cdn is one scenario's world: a Git server, a hub, light agents, and all that
// the recorder needs to make a world.Run of it.
type cdn struct {
	*world.World
	t   *testing.T
	api *sdk.Client
	run world.Run
	// url is where agents dial, the world's origin when empty.
	url string
	// credentials go with each repository that is added.
	credentials *hubv1.RepositoryCredentials
	// closers run after the judgement, last first.
	closers []func()

	polling context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
	mu      sync.Mutex // of what follows and run, for those who join at once
	agents  map[string]*world.LightAgent
	from    map[string]string // service to repository and folder
	newest  map[string]int    // of each repository and folder
}

// newCDN starts a world for a scenario.
func newCDN(t *testing.T, c world.Config) *cdn {
	t.Helper()
	c.Only = []string{"axle-hub"}
	c.Hub = append([]string{"--repo-poll-interval", "2s"}, c.Hub...)
	// Compiling with cold caches is no part of a scenario.
	if _, err := bin.Path(t.Context(), "axle-hub", c.Build); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := world.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	s := newStaged(t, w)
	s.login()
	return s
}

// newStaged is a scenario in a world that runs already.
func newStaged(t *testing.T, w *world.World) *cdn {
	s := &cdn{World: w, t: t, agents: map[string]*world.LightAgent{}, from: map[string]string{}, newest: map[string]int{}}
	s.run.Scenario, s.run.Commits = t.Name(), map[string][]string{}
	s.polling, s.stop = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		s.rest()
		s.keep()
		for _, end := range slices.Backward(s.closers) {
			end()
		}
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	return s
}

// rest ends the agents' polls.
func (s *cdn) rest() {
	s.stop()
	s.group.Wait()
}

// keep prints what helps to understand a failed run, and writes every run into the
// folder AXLE_KEEP_RUNS if it is set.
func (s *cdn) keep() {
	logs := []string{s.Hub.Log}
	if s.Replicated != nil {
		logs = nil
		for _, hub := range s.Replicated.Hubs {
			logs = append(logs, hub.Log)
		}
	}
	for _, log := range logs {
		if data, err := os.ReadFile(log); err == nil && s.t.Failed() {
			s.t.Logf("end of %s:\n%s", filepath.Base(log), data[max(0, len(data)-5000):])
		}
	}
	dir := os.Getenv("AXLE_KEEP_RUNS")
	if dir == "" {
		return
	}
	text, err := json.MarshalIndent(s.run, "", " ")
	s.must(err)
	s.must(os.WriteFile(filepath.Join(dir, strings.ReplaceAll(s.t.Name(), "/", "_")+".json"), text, 0o600))
}

func (s *cdn) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// login makes the first administrator.
func (s *cdn) login() {
	s.t.Helper()
	s.until("the hub answers", func() error {
		answer, err := http.Get(s.Origin() + "/readyz")
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", answer.Status)
		}
		return nil
	})
	token, err := os.ReadFile(s.Hub.SetupTokenFile())
	s.must(err)
	stranger, err := sdk.New(sdk.Config{URL: s.Origin()})
	s.must(err)
	made, err := stranger.Sessions.Setup(s.t.Context(), connect.NewRequest(&hubv1.SetupRequest{SetupToken: strings.TrimSpace(string(token)), Email: "admin@example.test"}))
	s.must(err)
	s.api, err = sdk.New(sdk.Config{URL: s.Origin(), Token: made.Msg.GetSecret()})
	s.must(err)
}

// files are a folder that says its version.
func files(folder string, version int) map[string]gitserver.Content {
	return map[string]gitserver.Content{
		folder + "/version.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: version}\ndata:\n  version: \"%d\"\n", version),
		folder + "/fixed.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\n",
	}
}

// push sets the version in a folder with one commit, with other files.
func (s *cdn) push(repo, folder string, version int, more ...map[string]gitserver.Content) string {
	s.t.Helper()
	all := files(folder, version)
	for _, m := range more {
		maps.Copy(all, m)
	}
	id, err := s.Git.Commit(s.t.Context(), repo, "main", fmt.Sprintf("version %d", version), all)
	s.must(err)
	s.run.Commits[repo] = append(s.run.Commits[repo], id)
	s.newest[repo+" "+folder] = version
	return id
}

// upstream makes a repository whose folder app says version 1, and adds it to
// the hub.
func (s *cdn) upstream(repo string, folders ...string) {
	s.t.Helper()
	s.must(s.Git.Create(s.t.Context(), repo))
	if len(folders) == 0 {
		folders = []string{"app"}
	}
	for _, folder := range folders {
		s.push(repo, folder, 1)
	}
	s.add(repo, s.Git.URL(repo))
}

// add makes a repository known to the hub.
func (s *cdn) add(name, url string) {
	s.t.Helper()
	s.must(s.tryAdd(name, url))
}

func (s *cdn) tryAdd(name, url string) error {
	_, err := s.api.Repositories.Create(s.t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: name, Type: "git", Url: url, Credentials: s.credentials}))
	return err
}

// service declares one that follows a folder of main.
func (s *cdn) service(cluster, name, repo, folder string) {
	s.t.Helper()
	s.declare(cluster, name, &hubv1.ServiceSpec{Repository: repo, Git: &hubv1.Git{Ref: "main", Folder: folder}})
	s.from[cluster+"/"+name] = repo + " " + folder
}

func (s *cdn) declare(cluster, name string, spec *hubv1.ServiceSpec) {
	s.t.Helper()
	_, err := s.api.Services.Create(s.t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}, Spec: spec}))
	s.must(err)
	s.run.Declared = append(s.run.Declared, cluster+"/"+name)
}

// agent makes a cluster and lets its light agent poll until the end.
func (s *cdn) agent(cluster string) *world.LightAgent {
	s.t.Helper()
	made, err := s.api.Clusters.Create(s.t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: cluster}))
	s.must(err)
	url := s.url
	if url == "" {
		url = s.Origin()
	}
	a, err := world.JoinLight(s.t.Context(), world.LightConfig{URL: url, Token: made.Msg.GetBootstrapToken(), Dir: s.Dir})
	s.must(err)
	s.agents[cluster] = a
	s.group.Go(func() { a.Run(s.polling) })
	return a
}

// simple is what most scenarios begin with: one repository, one cluster, one
// service that has version 1.
func (s *cdn) simple() {
	s.t.Helper()
	s.agent("edge")
	s.upstream("fleet")
	s.service("edge", "app", "fleet", "app")
	s.arrives("edge/app", 1)
}

// arrives waits until an agent has a version.
func (s *cdn) arrives(service string, version int) {
	s.t.Helper()
	cluster, name, _ := strings.Cut(service, "/")
	s.until(fmt.Sprintf("%s has version %d", service, version), func() error {
		if got := s.agents[cluster].Version(name); got != version {
			return fmt.Errorf("it has %d", got)
		}
		return nil
	})
}

// polls waits until an agent got n more answers.
func (s *cdn) polls(cluster string, n int) {
	s.t.Helper()
	start := s.agents[cluster].Polls()
	s.until(fmt.Sprintf("%d polls of %s", n, cluster), func() error {
		if got := s.agents[cluster].Polls() - start; got < n {
			return fmt.Errorf("%d so far", got)
		}
		return nil
	})
}

func (s *cdn) until(what string, condition func() error) {
	s.t.Helper()
	eventually.For(s.t, patience, what, condition)
}

// requests waits until upstream saw n more requests of a kind.
func (s *cdn) requests(repo string, kind gitserver.Kind, n int) {
	s.t.Helper()
	start := s.Git.Count(repo, kind)
	s.until(fmt.Sprintf("%d more %s of %s", n, kind, repo), func() error {
		if got := s.Git.Count(repo, kind) - start; got < n {
			return fmt.Errorf("%d so far", got)
		}
		return nil
	})
}

// running waits until a fetch of a repository runs, and reports when it began.
func (s *cdn) running(repo string) {
	s.t.Helper()
	s.until("a fetch of "+repo+" runs", func() error {
		for _, e := range s.Git.Log(repo) {
			if e.Kind == gitserver.Fetch && e.End.IsZero() {
				return nil
			}
		}
		return fmt.Errorf("none does")
	})
}

// fails waits until a repository is Failed and says all texts.
func (s *cdn) fails(name string, texts ...string) {
	s.t.Helper()
	s.shows(name, "Failed", texts...)
}

// heals waits until a repository is Pullable.
func (s *cdn) heals(name string) {
	s.t.Helper()
	s.shows(name, "Pullable")
}

func (s *cdn) shows(name, health string, texts ...string) {
	s.t.Helper()
	s.until(name+" is "+health, func() error {
		got, err := s.api.Repositories.Get(s.t.Context(), connect.NewRequest(&hubv1.GetRepositoryRequest{Name: name}))
		if err != nil {
			return err
		}
		r := got.Msg
		if r.GetHealth() != health {
			return fmt.Errorf("it is %s: %s", r.GetHealth(), r.GetMessage())
		}
		for _, text := range texts {
			if !strings.Contains(r.GetMessage(), text) {
				return fmt.Errorf("it says %q, not %q", r.GetMessage(), text)
			}
		}
		return nil
	})
}

// says waits until a service says all texts.
func (s *cdn) says(cluster, name string, texts ...string) {
	s.t.Helper()
	s.until(cluster+"/"+name+" says so", func() error {
		got, err := s.api.Services.Get(s.t.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}}))
		if err != nil {
			return err
		}
		all := got.Msg.GetMessage()
		for _, e := range got.Msg.GetErrors() {
			all += "\n" + e.GetMessage()
		}
		for _, text := range texts {
			if !strings.Contains(all, text) {
				return fmt.Errorf("it says %q, not %q", all, text)
			}
		}
		return nil
	})
}

// remove deletes a service on purpose and waits until its row is gone.
func (s *cdn) remove(cluster, name string) {
	s.t.Helper()
	s.run.Deleted = append(s.run.Deleted, cluster+"/"+name)
	delete(s.from, cluster+"/"+name)
	ref := &hubv1.ServiceRef{Cluster: cluster, Name: name}
	_, err := s.api.Services.Delete(s.t.Context(), connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: ref}))
	s.must(err)
	s.until(cluster+"/"+name+" is gone", func() error {
		_, err := s.api.Services.Get(s.t.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
		if errcode.Is(err, errcode.NotFound) {
			return nil
		}
		return fmt.Errorf("still there: %w", err)
	})
}

// wants says how a service that is not at its newest content must end.
func (s *cdn) wants(service string, version int) {
	delete(s.from, service)
	s.run.Want = append(s.run.Want, world.Want{Service: service, Version: version})
}

// record waits until the world came to rest, or does not, and writes down all
// that is known of the run.
func (s *cdn) record() world.Run {
	s.t.Helper()
	for _, service := range slices.Sorted(maps.Keys(s.from)) {
		s.run.Want = append(s.run.Want, world.Want{Service: service, Version: s.newest[s.from[service]]})
	}
	var found []world.Violation
	_ = eventually.Wait(s.t.Context(), patience, func() error { // Check says what did not come to rest
		s.snapshot()
		found = slices.DeleteFunc(world.Check(s.run), func(v world.Violation) bool { return v.Invariant != world.NobodyIsNeeded })
		if len(found) > 0 && len(s.run.Human) <= 1 {
			return fmt.Errorf("%v", found)
		}
		return nil
	})
	s.rest()
	s.snapshot()
	return s.run
}

// snapshot reads what can be read from outside.
func (s *cdn) snapshot() {
	s.t.Helper()
	r := &s.run
	r.Requests, r.Agents = nil, nil
	for _, e := range s.Git.Log("") {
		if e.Kind == gitserver.LsRefs || e.Kind == gitserver.Fetch {
			r.Requests = append(r.Requests, world.Request{Repo: e.Repo, Kind: string(e.Kind), Start: e.Start, End: e.End, Haves: e.Haves, Peer: e.Peer})
		}
	}
	r.Ended = time.Now()
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		r.Agents = append(r.Agents, world.AgentRun{Cluster: name, Steps: s.agents[name].Steps()})
	}
	store, err := s.ReadStore(s.t.Context())
	s.must(err)
	r.Store = store
}

// wait lets time pass, where a scenario is about nothing else.
func (s *cdn) wait(d time.Duration) {
	s.t.Helper()
	s.must(jitter.Wait(s.t.Context(), d))
}

// judge ends a scenario.
func (s *cdn) judge() {
	s.t.Helper()
	for _, v := range world.Check(s.record()) {
		s.t.Error(v)
	}
}
