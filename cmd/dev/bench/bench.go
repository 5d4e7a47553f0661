package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// bench is one run of the bench command.
type bench struct {
	out        string
	services   int
	unrecorded bool
	progress
}

// benchmark is one of those that are kept.
type benchmark struct {
	name, what string
	// limit bounds it.
	limit time.Duration
	run   func(context.Context, *bench) (*record, error)
	// not is what its numbers do not show.
	not string
}

// installServices is the number that records are made with.
const installServices = 500

// onRealNode runs by its name alone, because it needs root.
const onRealNode = "node"

var benchmarks = []benchmark{
	{"idle-poll", "a poll that finds nothing, against a hub process over TLS", 5 * time.Minute, benchIdlePoll,
		"the clients run on the same machine over loopback, and keep 200 connections, not 1,100. The floor does TLS and HTTP/2 as the hub does and looks nothing up, so the difference between the two is the hub's own work and that of its logs and timers. Polls as fast as they go share wake-ups that spaced polls do not share. Memory is that of a hub with 20 clusters"},
	{"tarball", "the first and a repeated tarball of a repository of 100 MB, and git archive | zstd", 8 * time.Minute, benchTarball,
		"one folder of similar files on a warm disk, one tarball at a time. The CPU of a core includes git's own. Nothing is sent over a network"},
	{"delta", "one file of 20 KB changes in a folder of 10 MB of manifests", 5 * time.Minute, benchDelta,
		"all manifests have the same shape. A delta of binary files or of a reordered folder is larger"},
	{"render", "12 MB of definitions through a render child, and through Kustomize's own interface in a plain process", 5 * time.Minute, benchRender,
		"one large input. Small inputs cost the start of the child, which the install includes"},
	{"render-charts", "public charts and kustomizations by axle-agent render, by a render child, and by helm template or kustomize build", 20 * time.Minute, benchCharts,
		"charts of Go modules with their own values; kube-prometheus-stack, which no module has, is at the end of this page. The first folder of each kustomization counts. The least of the runs of each counts. The child's start is in its time, and an agent starts it once for many services. Of a chart that generates certificates or passwords the child renders a second time what can differ, so that what is generated can be told from the rest; Helm renders it once"},
	{"monorepo", "one commit to one of 2,000 folders of a repository of 200,000 files; every folder is followed", 10 * time.Minute, benchMonorepo,
		"the upstream is on the same machine, without latency; one repository"},
	{"fleet-index", "lists of a hub with 10,000 clusters and 100,000 services, over HTTP, on SQLite and Postgres", 20 * time.Minute, benchFleetIndex,
		"the fleet is written straight into the tables and does not move meanwhile; one caller at a time, an administrator, on the same machine. Services have no secrets and short specs"},
	{"watched-list", "axle services list --health Degraded --watch of a hub with 10,000 clusters and 100,000 services", 5 * time.Minute, benchWatchedList,
		"bytes in both directions over plain HTTP on this machine, without TLS. The fleet is written straight into the tables; a tenth of it is Degraded, and 100 of these change by one call each. Many names and revisions are alike, so they compress well"},
	{"shares", "an administrator's calls and another project's delivery into a cluster, with all pools of the hub and of the cluster's agent empty and full", 15 * time.Minute, benchShares,
		"one hub on SQLite and one agent in the process of the benchmark, an API server and etcd beside it, and calls and deliveries one after the other on this machine; the best of three rounds counts, because the machine does other work too. Pools are filled by what takes places in them and sends nothing; processor time is in those with loops and a stranger, which take both cores from hub and agent alike. Of 60 deliveries the p99 is the slowest"},
	{"sign-ins", "logins to applications by a session that there is, and refreshes", 10 * time.Minute, benchSignIns,
		"one hub on SQLite in the process of the benchmark, one caller over plain HTTP on this machine, whose cost counts as the hub's; nobody types anything, and consent was given"},
	{"refs", "a repository of 50,001 branches on a local server", 15 * time.Minute, benchRefs,
		"the upstream has no latency; one clone, because a second one has nothing to fetch"},
	{"agent-memory", "an agent with objects of a real size, a fifth of which never become ready", 70 * time.Minute, benchAgentMemory,
		"no pods run and nobody changes the objects. The memory of render children is not included (see render), nor are times. Objects of a kind are similar, so they compress well: to a fifth or a third of their text"},
	{"install", "a real agent installs services of 4 objects on a real API server, idles, and checks all of them", 15 * time.Minute, benchInstall,
		"the API server has no other users and shares the machine with the agent. Flux was measured elsewhere, so only the numbers of requests compare with it. The section apply measures both in the same run"},
	{onRealNode, "a release on a real node: kubelet, containerd, restricted Pod Security, one registry and no way to another", 80 * time.Minute, benchNode,
		"one node on this machine, whose two ends of the network are one kernel. The stand-in for the image of Postgres is composed on this machine. Releases are made before and not timed"},
}

func command() *cobra.Command {
	var b bench
	var names, lines []string
	for _, one := range benchmarks {
		names = append(names, one.name)
		lines = append(lines, fmt.Sprintf("  %-10s %s", one.name, one.what))
	}
	c := &cobra.Command{
		Use:       "bench [NAME...]",
		Short:     "Run benchmarks, print tables and record the results",
		Long:      "Run benchmarks, print tables, and record the results as JSON with the machine and\nthe date. Without names, all benchmarks run, one after the other.\n\n" + strings.Join(lines, "\n"),
		Args:      cobra.OnlyValidArgs,
		ValidArgs: names,
		RunE:      func(c *cobra.Command, args []string) error { b.started = time.Now(); return b.run(c.Context(), args) },
	}
	c.Flags().StringVar(&b.out, "out", recordsFolder, "folder of the records; the page of "+recordsFolder+" is "+recordsPage+", else <folder>.md")
	c.Flags().BoolVar(&b.unrecorded, "unrecorded", false, "print only; use this in a tree with uncommitted changes")
	c.Flags().IntVar(&b.services, "services", installServices, "number of services that install uses; results of other numbers than the default are not recorded")
	return c
}

func (b *bench) run(ctx context.Context, names []string) error {
	if !b.unrecorded {
		if err := recordable(ctx, "bench"); err != nil {
			return err
		}
	}
	var failures []error
	var done []*record
	for _, one := range benchmarks {
		if !slices.Contains(names, one.name) && (len(names) > 0 || one.name == onRealNode) {
			continue
		}
		b.say("%s: %s (at most %s)", one.name, one.what, one.limit)
		r, err := b.one(ctx, one)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", one.name, err))
			continue
		}
		done = append(done, r)
	}
	for _, r := range done {
		fmt.Println()
		if err := r.print(); err != nil {
			return err
		}
	}
	if len(done) > 0 && !b.unrecorded {
		failures = append(failures, b.index())
		fmt.Printf("\nthe records are in %s and %s\n", b.out, pageOf(b.out))
	}
	return errors.Join(failures...)
}

// one runs a benchmark within its limit and records it.
func (b *bench) one(ctx context.Context, one benchmark) (*record, error) {
	ctx, cancel := context.WithTimeout(ctx, one.limit)
	defer cancel()
	r, err := one.run(ctx, b)
	if err != nil {
		return nil, err
	}
	r.Name, r.What = one.name, one.what
	r.Date, r.Commit, r.Machine = time.Now().UTC().Format(time.RFC3339), revision(ctx), thisMachine()
	if r.shrunk || b.unrecorded {
		return r, nil
	}
	return r, r.write(b.out)
}

func (r *record) print() error {
	fmt.Printf("%s: %s\n", r.Name, r.What)
	return printValues(r.Values, "REFERENCE")
}
