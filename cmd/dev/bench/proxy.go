package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/scale/proxy"
)

// benchProxy is one run of the bench-proxy command.
type benchProxy struct {
	config proxy.Config
	alone  bool
	measurement
}

func proxyCommand() *cobra.Command {
	var b benchProxy
	c := &cobra.Command{
		Use:   "bench-proxy",
		Short: "Measure a cluster's API through the hub, and the API server itself",
		Long: `Start a hub, an agent and a real API server as processes. Use the API server
directly and through the hub in the same run: GETs, bodies of 10 and 100 MiB in
both directions, commands, idle watches, and one client next to 50 clients that
read nothing.

Then send the same GETs and bodies through other tunnels (test/peers/tunnel).
Then kill a hub that has a thousand idle agents, and open 200 watches on each of
50 clusters of another hub.`,
	}
	f := c.Flags()
	f.IntVar(&b.config.Requests, "requests", 500, "number of timed requests of each kind")
	f.IntVar(&b.config.Watches, "watches", 400, "number of watches open at once")
	f.IntVar(&b.config.Agents, "agents", 1000, "number of idle agents; 0 leaves them out")
	f.IntVar(&b.config.WatchesOver, "watches-over", 50, "number of clusters with 200 watches each; 0 leaves them out")
	f.BoolVar(&b.alone, "alone", false, "leave out the other tunnels")
	return b.measures(c, b.run)
}

func (b *benchProxy) run(ctx context.Context) error {
	if err := recordable(ctx, b.name); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b.config.Player, b.config.Progress = []string{self, "fleet-player"}, b.say
	if !b.alone {
		peer, remove, err := buildPeer(ctx, "tunnel", b.say)
		if err != nil {
			return err
		}
		defer remove()
		b.config.Peer = peer
	}
	commit := revision(ctx)
	found, err := proxy.Measure(ctx, b.config)
	if err != nil {
		return err
	}
	r := &proxyRecord{Name: b.name, Date: b.started.UTC().Format(time.RFC3339), Commit: commit, Machine: thisMachine(), Watches: b.config.Watches, Result: found}
	if b.name != "" {
		if err := errors.Join(writeRecord(filepath.Join(b.out, "proxy"), r.Name, r), (&bench{out: b.out}).index()); err != nil {
			return err
		}
	}
	fmt.Printf("\nthrough the hub; CPU is that of hub and agent together; %d cores\n", r.Machine.Cores)
	if err := printValues(r.values(), "BESIDE"); err != nil {
		return err
	}
	return lastLine(found)
}

// proxyRecord is what is kept of one run.
type proxyRecord struct {
	Name    string       `json:"name"`
	Date    string       `json:"date"`
	Commit  string       `json:"commit"`
	Machine machine      `json:"machine"`
	Watches int          `json:"watches"`
	Result  proxy.Result `json:"result"`
}

func least(v value, budget float64) value { v.Budget, v.Floor = &budget, true; return v }

// values sets each number beside its budget and beside the peers'.
func (r *proxyRecord) values() []value {
	p := r.Result
	of := func(what, unit string, number func(*proxy.Carried) float64) value {
		v := value{What: what, Value: number(&p.Carried), Unit: unit}
		var beside []string
		for _, name := range slices.Sorted(maps.Keys(p.Peers)) {
			beside = append(beside, name+" "+decimal(number(p.Peers[name])))
		}
		v.Reference = strings.Join(beside, ", ")
		return v
	}
	all := []value{
		of("GET of the API server itself, p50", "ms", func(c *proxy.Carried) float64 { return c.DirectP50 }),
		of("GET through the hub, p50", "ms", func(c *proxy.Carried) float64 { return c.OverP50 }),
		most(of("GET, added, p50", "ms", func(c *proxy.Carried) float64 { return c.GetAddedP50 }), 2),
		of("GET, added, p99", "ms", func(c *proxy.Carried) float64 { return c.GetAddedP99 }),
		most(of("GET, CPU, of one client", "ms", func(c *proxy.Carried) float64 { return c.CPUPerRequest }), 1),
		beside(most(value{What: "GET, CPU, by that of konnectivity-grpc", Unit: "×"}, 0.8), p.CPUPerRequest, p.Peers["konnectivity-grpc"]),
		of("GET, CPU, least of the rounds", "ms", func(c *proxy.Carried) float64 { return c.CPULeast }),
		of("GET, CPU, most of the rounds", "ms", func(c *proxy.Carried) float64 { return c.CPUMost }),
		of("GET, CPU, of 8 clients at once", "ms", func(c *proxy.Carried) float64 { return c.CPUAtOnce }),
		of("down, bodies of 10 MiB, per core", "MB/s", func(c *proxy.Carried) float64 { return c.Down10 }),
		least(of("down, bodies of 100 MiB, per core", "MB/s", func(c *proxy.Carried) float64 { return c.Down }), 150),
		of("down, bodies of 100 MiB, by wall-clock time", "MB/s", func(c *proxy.Carried) float64 { return c.DownWall }),
		of("up, bodies of 10 MiB, per core", "MB/s", func(c *proxy.Carried) float64 { return c.Up10 }),
		least(of("up, bodies of 100 MiB, per core", "MB/s", func(c *proxy.Carried) float64 { return c.Up }), 150),
		of("up, bodies of 100 MiB, by wall-clock time", "MB/s", func(c *proxy.Carried) float64 { return c.UpWall }),
		most(of("allocated per byte of these bodies", "B", func(c *proxy.Carried) float64 { return c.AllocPerByte }), 0.2),
		{What: "command, one byte to it and back, p50", Value: p.ExecRTT, Unit: "ms"},
		most(value{What: "command, CPU", Value: p.ExecCPU, Unit: "ms"}, 3),
		{What: "command, CPU, least of the rounds", Value: p.ExecCPULeast, Unit: "ms"},
		{What: "command, CPU, most of the rounds", Value: p.ExecCPUMost, Unit: "ms"},
		{What: fmt.Sprintf("memory of an idle watch, of %d", r.Watches), Value: p.RSSPerWatch, Unit: "KiB"},
		{What: "GET next to 50 clients that read nothing, p50", Value: p.FastBesideStalled, Unit: "ms"},
	}
	return append(all, r.fleet(of)...)
}

// beside is a number by a peer's of the same run; without the peer it is zero
// and has no budget.
func beside(v value, ours float64, peer *proxy.Carried) value {
	if peer == nil || peer.CPUPerRequest == 0 {
		v.Budget = nil
		return v
	}
	v.Value, v.Reference = ours/peer.CPUPerRequest, "same run"
	return v
}

// fleet are the numbers of many agents.
func (r *proxyRecord) fleet(of func(string, string, func(*proxy.Carried) float64) value) (all []value) {
	p := r.Result
	if p.RSSPerAgent != nil && p.Reconnect != nil {
		all = append(all,
			// 10,000 agents in half a gigabyte.
			most(of("memory of an idle agent at the hub", "KiB", func(c *proxy.Carried) float64 {
				if c.RSSPerAgent == nil {
					return 0
				}
				return *c.RSSPerAgent
			}), 50),
			value{What: "bytes of an idle tunnel per hour, both directions, in TLS records", Value: *p.BytesPerAgent, Unit: "B"},
			value{What: fmt.Sprintf("hub killed: until it answers again, with %d agents", p.IdleAgents.Agents), Value: *p.ReadyAgain, Unit: "s"},
			value{What: "hub killed: until all tunnels are up again", Value: *p.Reconnect, Unit: "s"},
			value{What: "hub killed: CPU of the new hub until then", Value: *p.ReconnectCPU, Unit: "s"})
	}
	if m := p.Many; m != nil {
		what := fmt.Sprintf("%d watches over %d clusters: ", m.Watches, m.Clusters)
		all = append(all,
			value{What: what + "until all are open", Value: m.Open, Unit: "s"},
			value{What: what + "CPU of the hub to open one", Value: m.OpenCPU, Unit: "ms"},
			value{What: what + "memory of the hub", Value: m.RSS, Unit: "MB"},
			value{What: what + "memory of one watch", Value: m.RSSPerWatch, Unit: "KiB"},
			value{What: what + "cores of the hub while nothing happens", Value: m.Cores},
			most(value{What: what + "files of the hub", Value: float64(m.Files)}, 20000),
			value{What: what + "an event reaches its client, p50", Value: m.EventP50, Unit: "ms"},
			value{What: what + "an event reaches its client, p99", Value: m.EventP99, Unit: "ms"},
			most(value{What: what + "ended, or received another watch's event", Value: float64(m.Lost + m.Astray)}, 0))
	}
	return all
}

// proxyPage writes the tables of all recorded runs.
func proxyPage(page *bytes.Buffer, out string) error {
	records, err := readRecords[proxyRecord](filepath.Join(out, "proxy"))
	if err != nil || len(records) == 0 {
		return err
	}
	page.WriteString(`
## proxy

Measured by ` + "`make bench-proxy`" + `: a cluster's API through hub and agent, and the API
server itself. All are processes on one machine, with TLS on each of the four ends.
CPU is that of hub and agent together, in user and kernel mode, minus what the two
processes take when they are idle. It does not include the client, the API server or
the pod's stand-in. Each CPU number and each rate is the median of seven rounds after
a warm-up. The GETs come from one client that asks again once it has its answer, so
hub and agent wake up for each one. Each command comes on a new connection.

The peers carry the same GETs and bodies to the same API server in the same run.
Each is a plain reverse proxy that checks one token, with its tunnel behind it
([test/peers/tunnel](../test/peers/tunnel/README.md)). Ours also authenticates,
authorises, impersonates, audits and limits. Idle agents are simulated: they have a
tunnel that nobody uses, and they do not poll.

Not shown: latency between hub and cluster, which adds once to each GET; an API
server under load; more than 8 clients at once; the CPU that impersonation costs the
API server. Ours runs first and the peers after it. If the machine changes its speed
meanwhile, the least and most of the rounds show it.
`)
	for _, r := range records {
		m := r.Machine
		fmt.Fprintf(page, "\n### %s\n\n%s, commit %.12s; %s, %d cores, load %s.\n\n| measured | value | budget | beside |\n|---|---|---|---|\n",
			r.Name, r.Date, r.Commit, m.CPU, m.Cores, m.Load)
		for _, v := range r.values() {
			fmt.Fprintf(page, "| %s | %s | %s | %s |\n", v.What, strings.TrimSpace(v.number()), v.budget(), v.Reference)
		}
	}
	return nil
}
