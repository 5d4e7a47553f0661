package main

import (
	"go/types"
	"slices"
	"strings"
)

// system is one that tests change and read.
type system string

const (
	git  system = "Git"
	hub  system = "the hub"
	kube system = "the cluster"
)

// kind is what a call does to a system.
type kind int

const (
	read kind = iota
	write
	wait
)

// effect is what a call does.
type effect struct {
	kind   kind
	system system
}

const module = "github.com/axle-cd/axle/"

var (
	// hubReads begin the names of the calls of the hub that change nothing.
	hubReads = []string{
		"List", "Get", "CanI", "Verify", "Checkpoint", "WhoAmI", "Diff", "Preview", "Config", "UpgradeStatus", "Status", "AtRisk",
		"Watch", "AgentManifests", "Summary", "Search", "RecentChanges", "Query", "NeedsYou", "HeatMap", "Enrollment", "PollDevice",
	}
	kubeReads  = []string{"Get", "List"}
	kubeWrites = []string{"Create", "Update", "UpdateStatus", "Patch", "Delete", "DeleteAllOf", "DeleteCollection", "Apply", "ApplyStatus", "Evict"}
	// commands are functions of tests that run axle or kubectl with the arguments that
	// follow.
	commands = map[string]system{
		"axle": hub, "Axle": hub, "AxleIn": hub, "must": hub, "differs": hub, "terraform": hub, "fails": hub,
		"kubectl": kube, "Kubectl": kube, "try": kube,
	}
	cliReads  = []string{"get", "list", "diff", "status", "verify", "whoami", "manifests", "events", "logs", "describe", "version", "preview", "history", "tree", "export", "can-i", "api-resources", "inspect", "check", "tests", "show"}
	kubeWaits = []string{"wait", "rollout"}
	// ownWaits are commands of axle that change a cluster themselves, and wait for it.
	ownWaits = []string{"install", "upgrade", "uninstall", "preflight"}
)

// effectOf is what a function of a client does.
func effectOf(f *types.Func) (effect, bool) {
	if f.Pkg() == nil {
		return effect{}, false
	}
	path, name := f.Pkg().Path(), f.Name()
	switch {
	case path == module+"api/hub/v1/hubv1connect" && strings.HasSuffix(receiver(f), "Client"):
		if slices.ContainsFunc(hubReads, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return effect{read, hub}, true
		}
		return effect{write, hub}, true
	case path == "sigs.k8s.io/controller-runtime/pkg/client" || strings.HasPrefix(path, "k8s.io/client-go/"):
		if receiver(f) == "" {
			return effect{}, false
		}
		if slices.Contains(kubeReads, name) {
			return effect{read, kube}, true
		}
		return effect{write, kube}, slices.Contains(kubeWrites, name)
	case runsOperator(f):
		return effect{write, kube}, true // it takes up whatever lies in the cluster
	case receiver(f) == "World" && (name == "Service" || name == "Services"):
		return effect{read, hub}, true
	case path == module+"test/gitserver" && name == "Commit":
		return effect{write, git}, true
	case receiver(f) == "gate" && (name == "count" || name == "since"):
		return effect{read, hub}, true // the calls that reached it
	}
	return effect{}, false
}

// runsOperator reports whether a function is the operator, which reports in the status
// of its objects; agents report to the hub.
func runsOperator(f *types.Func) bool {
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == module+"operator" && f.Name() == "Run"
}

// receiver is the name of the type of a method, "" for a function.
func receiver(f *types.Func) string {
	r := f.Signature().Recv()
	if r == nil {
		return ""
	}
	t := r.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return "interface"
}

// effectsOfCommand is what a command does with the arguments that are known; "?" is one
// that is not.
func effectsOfCommand(name string, of system, args []string) []effect {
	if name == "terraform" || name == "fails" {
		return []effect{{write, hub}, {wait, hub}} // it waits for what it does
	}
	if len(args) == 0 || args[0] == "?" {
		return nil
	}
	verb := args[0]
	if of == hub {
		if slices.Contains(ownWaits, verb) {
			return []effect{{write, kube}, {wait, kube}}
		}
		verb = args[min(1, len(args)-1)]
	}
	switch {
	case verb == "login" || strings.HasPrefix(verb, "-"):
		return nil
	case slices.Contains(cliReads, verb) || slices.Contains(cliReads, args[0]):
		return []effect{{read, of}}
	case slices.Contains(kubeWaits, verb):
		return []effect{{wait, of}}
	case of == hub && waitsItself(verb, args):
		return []effect{{write, of}, {wait, of}}
	}
	return []effect{{write, of}}
}

// waitsItself reports whether a command of axle ends when the clusters have reported.
func waitsItself(verb string, args []string) bool {
	if i := slices.Index(args, "--timeout"); i >= 0 {
		return i+1 == len(args) || args[i+1] != "0"
	}
	return verb == "delete" || slices.Contains(args, "--wait")
}

// isWait reports whether a function waits for the condition that it is given.
func isWait(f *types.Func) bool {
	return f.Pkg() != nil && f.Pkg().Path() == module+"internal/eventually" && (f.Name() == "For" || f.Name() == "Wait" || f.Name() == "WaitEvery")
}

// isRest reports whether a function waits until nothing is under way.
func isRest(f *types.Func) bool { return f.Name() == "rest" || f.Name() == "AtRest" }
