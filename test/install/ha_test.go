package install_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/scale"
)

// soak runs tests at their full size.
var soak = os.Getenv("AXLE_SOAK") != ""

const (
	// replicas of the hub, and repositories that they share.
	replicas, repositories = 3, 6
	// realAgents run as pods; each delivers one service.
	realAgents = 3
	// playedEvery is the time between the polls of a simulated agent, up to half of it
	// added.
	playedEvery = 2 * time.Second
)

// ha is an installed control plane of the shape ha, with agents.
type ha struct {
	*bed
	front    *front
	database string
	git      *gitserver.Server
	fleet    *scale.Fleet
	words    int
	// abrupt pods close their port before the front knows: what a client repeats then
	// is no failure.
	abrupt bool
}

// haValues are those of examples/install/ha.yaml for this machine: every pod has an
// address of its own on loopback, and there is no DNS for the replicas' names.
const haValues = `url: %s
shape: ha
global: {registry: axle.test}
hub:
  image: {repository: axle-hub}
  port: %d
  metricsPort: %d
  keySecret: {name: axle-key}
  trustedProxies: [127.0.0.0/8]
  upstreamNetworks: [127.0.0.0/8]
  httpUpstreams: true
  env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
  args: ["--listen=$(POD_IP):%[2]d", "--metrics-listen=$(POD_IP):%[3]d", "--advertise-url=http://$(POD_IP):%[2]d", --repo-poll-interval=2s, --agent-upgrades=manual%[4]s]
agent: {image: {repository: axle-agent}}
database: {urlSecret: {name: axle-database}}
tls: {ca: {secretName: axle-ca}}
operator: {enabled: false}
crds: {hook: false}
`

// prepareHA starts everything but the hub, and writes its values and its Secrets.
func prepareHA(t *testing.T) *ha {
	t.Helper()
	h := beginHA(t, "127.0.0.1")
	h.kubectl("create", "namespace", "axle")
	h.kubectl("label", "namespace", "axle", "pod-security.kubernetes.io/enforce=restricted")
	h.kubectl("-n", "axle", "create", "secret", "generic", "axle-key", "--from-literal=hub.key=k1 "+strings.Repeat("ab", 32))
	h.trust()
	h.setDatabase(h.database)
	return h
}

// beginHA starts everything but the hub, whose address has a name, and writes the values
// of this machine.
func beginHA(t *testing.T, name string) *ha {
	t.Helper()
	h := &ha{bed: newBed(t), front: newFront(t, name), database: pg.New(t)}
	h.url = h.front.URL
	client, err := kubernetes.NewForConfig(h.Config())
	must(t, err)
	hub, err := port.Free()
	must(t, err)
	h.front.follow(t, client, hub)
	metrics, err := port.Free()
	must(t, err)
	delay := ", --shutdown-delay=2s" // the chart's 5 s wait for slower ingresses
	if soak {
		delay = ""
	}
	must(t, os.WriteFile(h.values, fmt.Appendf(nil, haValues, h.url, hub, metrics, delay), 0o600))
	if h.git, err = gitserver.Start(t.Context(), gitserver.Config{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.git.Close() }) // the end of the test is not its subject
	t.Cleanup(func() {
		if t.Failed() {
			h.showLogs()
		}
	})
	return h
}

// trust writes the Secret of tls.ca, the authority of the front.
func (h *ha) trust() {
	h.t.Helper()
	h.kubectl("-n", "axle", "create", "secret", "generic", "axle-ca", "--from-literal=ca.crt="+string(h.front.ca()))
}

// setDatabase writes the Secret of database.urlSecret.
func (h *ha) setDatabase(url string) {
	h.t.Helper()
	h.kubectl("-n", "axle", "delete", "secret", "axle-database", "--ignore-not-found")
	h.kubectl("-n", "axle", "create", "secret", "generic", "axle-database", "--from-literal=url="+url)
}

// populate adds repositories, agents of both kinds, and a service for each.
func (h *ha) populate(played int) {
	h.t.Helper()
	h.words++
	for i := range repositories {
		name := fmt.Sprintf("r%d", i)
		must(h.t, h.git.Create(h.t.Context(), name))
		h.commit(name)
		h.must("repos", "add", name, h.git.URL(name))
	}
	for i := range realAgents {
		name := fmt.Sprintf("real-%d", i)
		// A port of the kernel's choice, because an upgrade runs two agents for a while.
		h.must("clusters", "connect", name, "--kubeconfig", h.Kubeconfig(), "--agent-namespace", "axle-"+name, "--poll-interval", "1s", "--skip-image-check", "--timeout", "0",
			"--agent-arg", "--metrics-listen=127.0.0.1:0", "--agent-arg", "--upgrade-tick=500ms")
		h.must("services", "create", name+"/app", "--namespace", "app-"+name, "--repo", fmt.Sprintf("r%d", i), "--ref", "main", "--folder", "app")
	}
	token := strings.TrimSpace(h.must("tokens", "create", "--bootstrap", "--name-pattern", "edge-*", "--max-uses", strconv.Itoa(played), "--approved"))
	h.fleet = scale.New(scale.Config{URL: h.url, CAPEM: h.front.ca(), OwnConnections: true, InMemory: true, Interval: playedEvery, Dir: h.t.TempDir()})
	members := make([]scale.Member, played)
	for n := range members {
		members[n] = scale.Member{Name: scale.PlayedName(n), Token: token}
	}
	must(h.t, h.fleet.JoinAll(h.t.Context(), members, nil))
	for n := range members {
		h.must("services", "create", members[n].Name+"/app", "--namespace", "app", "--repo", fmt.Sprintf("r%d", n%repositories), "--ref", "main", "--folder", "app")
	}
	h.live()
	h.delivered()
	h.rested()
}

// rested waits until no repository was placed anew for longer than the hub pauses
// between two moves: the first placement is put right when all replicas are there.
func (h *ha) rested() {
	h.t.Helper()
	var last map[string]placed
	since := time.Now()
	eventually.For(h.t, limit, "the repositories come to rest", func() error {
		if now := h.settled(); !maps.Equal(now, last) {
			last, since = now, time.Now()
		}
		if rest := time.Since(since); rest < 15*time.Second {
			return fmt.Errorf("nothing moved for %s", rest)
		}
		return nil
	})
}

// live lets the simulated agents poll until the test ends.
func (h *ha) live() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = h.fleet.Run(ctx) }) // it ends with its context alone
	h.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// commit changes the folder of a repository to the present word.
func (h *ha) commit(repository string) {
	h.t.Helper()
	word := strconv.Itoa(h.words)
	_, err := h.git.Commit(h.t.Context(), repository, "main", "say "+word, map[string]gitserver.Content{
		"app/one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {word: \"" + word + "\"}\n",
	})
	must(h.t, err)
}

// delivered waits until each real agent brought the present word to its cluster.
func (h *ha) delivered() {
	h.t.Helper()
	want := strings.TrimSpace(strings.Repeat(strconv.Itoa(h.words)+" ", realAgents))
	h.eventually("every service says "+want, func() string {
		return h.kubectl("get", "configmaps", "-A", "--field-selector", "metadata.name=one", "-o", "jsonpath={.items[*].data.word}")
	}, want)
}

// polls are those of all agents: how many were answered, and how many were not.
type polls struct{ answered, missed float64 }

func (h *ha) polls() (p polls) {
	h.t.Helper()
	stats := h.fleet.Stats()
	p.answered, p.missed = float64(stats.Polls-stats.Failed), float64(stats.Failed)
	for i := range realAgents {
		eventually.For(h.t, limit, "the metrics of an agent", func() error {
			address, err := listens("axle-agent", fmt.Sprintf("--namespace=axle-real-%d", i))
			if err != nil {
				return err
			}
			counts, err := agentPolls(h.t.Context(), address)
			if err == nil && counts["unchanged"]+counts["changed"] == 0 {
				err = errors.New("it did not poll yet")
			}
			if err == nil {
				p.answered, p.missed = p.answered+counts["unchanged"]+counts["changed"], p.missed+counts["held"]
			}
			return err
		})
	}
	return p
}

// listens finds the one process of this machine that runs a program with an argument, and
// the address on loopback where it listens.
func listens(program, argument string) (string, error) {
	var found []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if words := strings.Split(string(line), "\x00"); err == nil && strings.HasPrefix(filepath.Base(words[0]), program) && slices.Contains(words, argument) {
			found = append(found, dir)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d processes %s %s", len(found), program, argument)
	}
	descriptors, err := filepath.Glob(filepath.Join(found[0], "fd", "*"))
	if err != nil {
		return "", err
	}
	sockets := map[string]bool{}
	for _, d := range descriptors {
		if to, err := os.Readlink(d); err == nil { // others are closed meanwhile
			sockets[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	table, err := os.ReadFile(filepath.Join(found[0], "net", "tcp"))
	if err != nil {
		return "", err
	}
	const loopback, listening = "0100007F:", "0A"
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if number, ok := strings.CutPrefix(f[1], loopback); ok && f[3] == listening && sockets[f[9]] {
			port, err := strconv.ParseUint(number, 16, 16)
			return fmt.Sprintf("127.0.0.1:%d", port), err
		}
	}
	return "", fmt.Errorf("%s %s listens nowhere", program, argument)
}

// agentPolls reads an agent's own counters, by result.
func agentPolls(ctx context.Context, address string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	counts := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, `axle_agent_polls_total{result="`)
		if result, number, cut := strings.Cut(rest, `"} `); ok && cut {
			if counts[result], err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil {
				return nil, err
			}
		}
	}
	return counts, err
}

// placed is where the database says that a repository is.
type placed struct{ owner, preferred, follower string }

func (h *ha) placements(ctx context.Context) (map[string]placed, error) {
	conn, err := pgx.Connect(ctx, h.database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT r.name, CASE WHEN l.expires_at > extract(epoch FROM clock_timestamp()) * 1000000 THEN l.replica ELSE '' END, l.preferred,
		CASE WHEN l.followed_at > 0 THEN l.follower ELSE '' END FROM repository_leases l JOIN repositories r ON r.id = l.repository_id`)
	if err != nil {
		return nil, err
	}
	all := map[string]placed{}
	for rows.Next() {
		var name string
		var p placed
		if err := rows.Scan(&name, &p.owner, &p.preferred, &p.follower); err != nil {
			return nil, err
		}
		all[name] = p
	}
	return all, rows.Err()
}

// settled waits until each repository is owned where it is placed, and followed.
func (h *ha) settled() map[string]placed {
	h.t.Helper()
	var all map[string]placed
	eventually.For(h.t, limit, "every repository has its owner and its follower", func() (err error) {
		if all, err = h.placements(h.t.Context()); err != nil {
			return err
		}
		for name, p := range all {
			if p.owner == "" || p.owner != p.preferred || p.follower == "" {
				return fmt.Errorf("%s: %+v", name, p)
			}
		}
		if len(all) != repositories {
			return fmt.Errorf("%d repositories", len(all))
		}
		return nil
	})
	return all
}

// calm is what was seen while something was done to the hub.
type calm struct {
	answered, missed float64
	moved            int
	took             time.Duration
}

// calmly does something to the hub, with a commit to each repository meanwhile, and
// holds that every agent's polls were answered, the commits delivered, and that no
// replica lost its repositories.
func (h *ha) calmly(what string, do func()) (c calm) {
	h.t.Helper()
	before, polled, begun := h.settled(), h.polls(), time.Now()
	broken := h.front.broken.Load()
	watching, stop := context.WithCancel(h.t.Context())
	defer stop()
	moved := make(chan []string, 1)
	go func() { moved <- h.moves(watching, before) }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	h.words++
	for name := range before {
		h.commit(name)
	}
	h.delivered()
	<-done
	h.settled()
	stop()
	list := <-moved
	now := h.polls()
	c = calm{now.answered - polled.answered, now.missed - polled.missed, len(list), time.Since(begun)}
	if c.moved > 0 {
		h.t.Errorf("%s: repositories moved: %v", what, list)
	}
	if c.missed > 0 || c.answered <= 0 {
		h.t.Errorf("%s: %.0f polls were missed, and %.0f answered", what, c.missed, c.answered)
	}
	if n := h.front.broken.Load() - broken; n > 0 && !h.abrupt {
		h.t.Errorf("%s: %d requests were not answered: %v", what, n, h.front.said())
	}
	h.t.Logf("%s: %.0f polls in %s, %.0f missed; %d requests repeated; moved: %v", what, c.answered, c.took.Round(time.Second), c.missed, h.front.broken.Load()-broken, list)
	return c
}

// moves looks until its context ends, and names the repositories that were placed or
// owned elsewhere.
func (h *ha) moves(ctx context.Context, before map[string]placed) []string {
	seen := map[string]string{}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		now, err := h.placements(ctx)
		for name, p := range now {
			if was := before[name]; err == nil && (p.preferred != was.preferred || p.owner != "" && p.owner != was.owner) {
				seen[name] = fmt.Sprintf("%s from %s to %s, owned by %q", name, was.preferred, p.preferred, p.owner)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return slices.Sorted(maps.Values(seen))
}

// deletePod deletes a replica as a drained node does, and waits for its successor.
func (h *ha) deletePod(name string) {
	uid := h.kubectl("-n", "axle", "get", "pod", name, "-o", "jsonpath={.metadata.uid}")
	h.kubectl("-n", "axle", "delete", "pod", name)
	eventually.For(h.t, limit, name+" is back", func() error {
		have := h.kubectl("-n", "axle", "get", "pods", "-l", "app.kubernetes.io/name=axle-hub", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
		if strings.Contains(have, uid) || strings.Count(have, " True") != replicas {
			return errors.New(have)
		}
		return nil
	})
}

// versions are those that the replicas say of themselves.
func (h *ha) versions() string {
	h.t.Helper()
	conn, err := pgx.Connect(h.t.Context(), h.database)
	must(h.t, err)
	defer func() { _ = conn.Close(h.t.Context()) }()
	var text string
	must(h.t, conn.QueryRow(h.t.Context(), "SELECT string_agg(version, ' ' ORDER BY name) FROM replicas").Scan(&text))
	return text
}

// replicasAre holds that all replicas say that they are a version.
func (h *ha) replicasAre(version string) {
	h.t.Helper()
	if have, want := h.versions(), strings.TrimSpace(strings.Repeat(version+" ", replicas)); have != want {
		h.t.Errorf("the replicas are %s, not %s", have, want)
	}
}

func (h *ha) showLogs() {
	for i := range replicas {
		h.t.Log(h.try("-n", "axle", "logs", fmt.Sprintf("axle-%d", i), "--tail=60"))
	}
	h.t.Log(h.try("-n", "axle", "get", "pods", "-o", "wide"))
}

// next is the version after this tree's, for which the same sources are built.
const next = "0.2.0"
