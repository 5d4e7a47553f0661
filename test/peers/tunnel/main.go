// Command tunnel is the comparison for our path to a cluster's API: a plain reverse
// proxy whose connections to the API server go through the tunnel of konnectivity or
// of Rancher's remotedialer. It is a module of its own, so that the product links
// none of them.
//
// One process is the hub, with --kubeconfig, and one the agent, with --hub. Each
// writes a line of JSON once it is ready, and answers each input line with one line;
// on the line "collect" it first runs the garbage collector. It exits at the end of
// its input. Only the benchmark runs it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"

	"github.com/sirupsen/logrus"
)

// The libraries, and of konnectivity both ways from a client to its server.
const (
	konnectivityGRPC    = "konnectivity-grpc"
	konnectivityConnect = "konnectivity-http-connect"
	remoteDialer        = "remotedialer"
)

// dial connects to an address as seen from the agent.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// config is the configuration of a process.
type config struct {
	library    string
	kubeconfig string
	hub        string
	authority  string
	agents     int
	first      int
}

// answer is a line that a process writes.
type answer struct {
	// URL is where people connect and Tunnel where agents do; Token lets both
	// in, and CA signed the certificate.
	URL    string `json:"url,omitempty"`
	Tunnel string `json:"tunnel,omitempty"`
	Token  string `json:"token,omitempty"`
	CA     string `json:"ca,omitempty"`
	// Allocated is what the process has allocated so far, in bytes.
	Allocated uint64 `json:"allocated"`
}

func main() {
	var c config
	flag.StringVar(&c.library, "library", "", "konnectivity-grpc, konnectivity-http-connect or remotedialer")
	flag.StringVar(&c.kubeconfig, "kubeconfig", "", "be the hub, with this way into the cluster")
	flag.StringVar(&c.hub, "hub", "", "be agents of the hub whose tunnels end here")
	flag.StringVar(&c.authority, "ca", "", "file with the hub's authority")
	flag.IntVar(&c.agents, "agents", 1, "tunnels to keep")
	flag.IntVar(&c.first, "first", 0, "number of the first of them")
	flag.Parse()
	logrus.SetLevel(logrus.ErrorLevel)
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(c config) error {
	if !slices.Contains([]string{konnectivityGRPC, konnectivityConnect, remoteDialer}, c.library) {
		return fmt.Errorf("--library %q is none that is known", c.library)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ready, err := start(ctx, c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(ready); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "collect" {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if err := out.Encode(answer{Allocated: m.TotalAlloc}); err != nil {
			return err
		}
	}
	return lines.Err()
}

func start(ctx context.Context, c config) (answer, error) {
	switch {
	case c.hub == "":
		return startHub(ctx, c)
	case c.library == remoteDialer:
		return answer{}, remoteDialerAgents(ctx, c)
	}
	return answer{}, konnectivityAgents(ctx, c)
}
