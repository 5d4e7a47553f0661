// Package e2e_test runs the scripts in testdata against the real programs: each
// script has a world of its own (hub, Git server, API servers, agents as
// processes) and judges by what the command line and the API servers say.
//
//	world [-clusters a,b] [-pods] [-controllers] [-audit] [hub flag …]   start it, and log in
//	axle ARG…           the command line;  ! axle … must fail
//	kube CLUSTER ARG…   kubectl as that cluster's administrator
//	git create REPO | commit REPO BRANCH FOLDER | tag REPO NAME | down | up | fault REPO STATUS
//	charts publish|push NAME VERSION FOLDER     to a chart repository at $CHARTS, to a registry at $REGISTRY
//	hub kill | start | stop
//	agent start CLUSTER | kill CLUSTER | again CLUSTER
//	bed CLUSTER          Cluster API and the provider of the test bed on a cluster
//	party reserve | start CLUSTER NAMESPACE SECRET   an application that others wrote, at $PARTY
//	browse open URL | link FILE | fill SELECTOR TEXT | click SELECTOR | text TEXT | until URL TEXT   in a real browser
//	page PAGE N          the block N of a page below docs, beside a checkout and a clone of $URL
//	made CLUSTER ARG…    kubectl as the administrator of a cluster that was made; $NAMESPACE is where it was made
//	mark CLUSTER | undeleted CLUSTER   since the mark the API server was asked to delete nothing but Axle's own records
//	waitfor PATTERN axle|kube|made ARG…   until standard output matches (90 s);  ! waitfor …   until it fails, and standard error matches
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/capi/provider"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/registryserver"
	"github.com/axle-cd/axle/test/world"
)

const (
	// commandLimit bounds one command, startLimit the start of a world, which
	// builds the programs when they changed.
	commandLimit = 4 * time.Minute
	startLimit   = 8 * time.Minute
	// waitLimit bounds a waitfor: many polls of 1 s on a busy machine, and a back-off of Cluster API, which doubles.
	waitLimit = 6 * time.Minute
)

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"world": startWorld, "axle": axle, "kube": kubectl, "git": gitCommand, "charts": chartsCommand, "hub": hub, "agent": agent, "waitfor": waitFor, "mark": mark, "undeleted": undeleted, "rest": rest,
			"bed": bed, "made": made, "page": page, "party": party, "browse": browse(t),
		},
		Setup: func(env *testscript.Env) error {
			env.Values[stageKey{}] = &stage{agents: map[string]*world.Agent{}, marks: map[string]int64{}, namespaces: map[string]string{}}
			examples, err := filepath.Abs("../../examples")
			env.Setenv("EXAMPLES", examples)
			return errors.Join(err, bin.Inputs("examples"), bin.Inputs("deploy/bed"))
		},
	})
}

type stageKey struct{}

// stage is the state of one script.
type stage struct {
	*world.World
	agents map[string]*world.Agent
	marks  map[string]int64
	charts *chartserver.Server
	images *registryserver.Server
	// provider makes the control planes of clusters from the template.
	provider   *provider.Provider
	namespaces map[string]string
}

func on(ts *testscript.TestScript) *stage {
	s := ts.Value(stageKey{}).(*stage)
	if s.World == nil {
		ts.Fatalf("start a world first")
	}
	return s
}

func limited(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}

func startWorld(ts *testscript.TestScript, _ bool, args []string) {
	config := world.Config{Hub: []string{"--repo-poll-interval", "2s"}, Rest: true}
	for len(args) > 0 {
		switch args[0] {
		case "-clusters":
			config.Clusters = strings.Split(args[1], ",")
			args = args[1:]
		case "-pods":
			config.Pods = true
		case "-controllers":
			config.Controllers = true
		case "-audit":
			config.Audit = true
		default:
			config.Hub = append(config.Hub, args[0])
		}
		args = args[1:]
	}
	ctx, cancel := limited(startLimit)
	defer cancel()
	w, err := world.Start(ctx, config)
	ts.Check(err)
	ts.Value(stageKey{}).(*stage).World = w
	ts.Defer(func() {
		if err := w.Close(); err != nil {
			ts.Logf("end of the world: %v", err)
		}
	})
	ts.Setenv("WORLD", w.Dir)
	ts.Setenv("HUB", w.Hub.URL)
	ts.Check(w.Login(ctx))
}

// run runs a command and hands its output to the script.
func run(ts *testscript.TestScript, neg bool, command func(ctx context.Context) (world.Result, error)) {
	ctx, cancel := limited(commandLimit)
	defer cancel()
	result, err := command(ctx)
	fmt.Fprint(ts.Stdout(), result.Out)
	fmt.Fprint(ts.Stderr(), result.Err)
	if (err != nil) != neg {
		ts.Fatalf("failed = %v, want %v: %v\n%s%s", err != nil, neg, err, result.Out, result.Err)
	}
}

func axle(ts *testscript.TestScript, neg bool, args []string) {
	s := on(ts)
	run(ts, neg, func(ctx context.Context) (world.Result, error) { return s.Axle(ctx, absolute(ts, args)...) })
}

func kubectl(ts *testscript.TestScript, neg bool, args []string) {
	s := on(ts)
	run(ts, neg, func(ctx context.Context) (world.Result, error) { return s.Kubectl(ctx, args[0], args[1:]...) })
}

// absolute turns arguments that are files of the script into paths.
func absolute(ts *testscript.TestScript, args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if _, err := os.Stat(ts.MkAbs(a)); err == nil && a != "." && a != "" {
			out[i] = ts.MkAbs(a)
		}
	}
	return out
}

func gitCommand(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	ctx, cancel := limited(commandLimit)
	defer cancel()
	switch args[0] {
	case "create":
		ts.Check(s.Git.Create(ctx, args[1]))
		ts.Setenv("URL", s.Git.URL(args[1]))
	case "commit":
		id, err := s.Git.CommitFolder(ctx, args[1], args[2], "a change", ts.MkAbs(args[3]))
		ts.Check(err)
		ts.Setenv("COMMIT", id)
	case "reset":
		ts.Check(s.Git.SetRef(ctx, args[1], "refs/heads/"+args[2], args[3]))
	case "tag":
		id, err := s.Git.Resolve(ctx, args[1], "refs/heads/main")
		ts.Check(err)
		ts.Check(s.Git.SetRef(ctx, args[1], "refs/tags/"+args[2], id))
	case "down":
		ts.Check(s.Git.Down())
	case "up":
		ts.Check(s.Git.Up(ctx))
	case "fault":
		status, err := strconv.Atoi(args[2])
		ts.Check(err)
		s.Git.SetFault(args[1], gitserver.Fault{Status: status})
	default:
		ts.Fatalf("git %s is not known", args[0])
	}
}

func chartsCommand(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	if s.charts == nil {
		s.charts, s.images = chartserver.Start(false), registryserver.Start(false)
		ts.Defer(func() { s.charts.Close(); s.images.Close() })
		ts.Setenv("CHARTS", s.charts.URL())
		ts.Setenv("REGISTRY", s.images.URL("charts"))
	}
	if len(args) != 4 {
		ts.Fatalf("usage: charts publish|push NAME VERSION FOLDER")
	}
	name, version, files := args[1], args[2], map[string]string{}
	root := os.DirFS(ts.MkAbs(args[3]))
	ts.Check(fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, path)
		files[path] = string(text)
		return err
	}))
	if args[0] == "publish" {
		s.charts.Publish(chartserver.Chart{Name: name, Version: version, Files: files})
		return
	}
	_, err := s.images.Push("charts/"+name, version, registryserver.Artifact{
		ConfigType: registryserver.ChartConfig, Layers: []registryserver.Layer{{Type: registryserver.ChartLayer, Data: chartserver.Archive(name, version, files)}},
	})
	ts.Check(err)
}

func hub(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	ctx, cancel := limited(commandLimit)
	defer cancel()
	switch args[0] {
	case "kill":
		ts.Check(s.Hub.Kill())
	case "stop":
		ts.Check(s.Hub.Stop(ctx))
	case "start":
		ts.Check(s.Hub.Start(ctx))
	default:
		out, err := s.Hub.Run(ctx, absolute(ts, args)...)
		fmt.Fprint(ts.Stdout(), out)
		ts.Check(err)
	}
}

func agent(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	ctx, cancel := limited(commandLimit)
	defer cancel()
	switch cluster := args[1]; args[0] {
	case "start":
		a, err := s.ConnectProcess(ctx, cluster, world.AgentOptions{})
		ts.Check(err)
		s.agents[cluster] = a
		ts.Defer(func() { ts.Logf("end of the log of agent %s:\n%s", cluster, a.Tail()) })
	case "kill":
		ts.Check(s.agents[cluster].Kill())
	case "again":
		ts.Check(s.agents[cluster].Start())
	default:
		ts.Fatalf("agent %s is not known", args[0])
	}
}

// mark notes the present end of a cluster's audit log.
func mark(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	at, err := s.Cluster(args[0]).AuditMark()
	ts.Check(err)
	s.marks[args[0]] = at
}

// undeleted checks the audit log: since the mark the API server was asked to delete
// only Axle's own inventories and leases.
func undeleted(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	events, err := s.Cluster(args[0]).AuditSince(s.marks[args[0]])
	ts.Check(err)
	writes := 0
	for _, e := range events.Requests() {
		switch {
		case e.Verb == "patch" || e.Verb == "update" || e.Verb == "create":
			writes++
		case e.Verb != "delete" && e.Verb != "deletecollection":
		case e.Object.Resource == "leases", e.Object.Resource == "secrets" && strings.HasPrefix(e.Object.Name, "axle-inventory-"):
		default:
			ts.Fatalf("%s asked to %s %s", e.User.Name, e.Verb, e.URI)
		}
	}
	if writes == 0 {
		ts.Fatalf("the audit log knows of no write since the mark: it proves nothing")
	}
}

// rest waits until nothing is under way: what is not there then does not come.
func rest(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := limited(startLimit)
	defer cancel()
	ts.Check(on(ts).AtRest(ctx))
}

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	s := on(ts)
	pattern, err := regexp.Compile("(?s)" + args[0])
	ts.Check(err)
	ctx, cancel := limited(waitLimit)
	defer cancel()
	var last world.Result
	err = eventually.Wait(ctx, waitLimit, func() (err error) {
		switch args[1] {
		case "kube":
			last, err = s.Kubectl(ctx, args[2], args[3:]...)
		case "made":
			last, err = s.made(ctx, args[2:])
		default:
			last, err = s.Axle(ctx, args[2:]...)
		}
		said := last.Out
		if neg {
			said = last.Err
		}
		if neg && err == nil || !pattern.MatchString(said) {
			return errors.Join(errors.New("no match"), err)
		}
		return nil
	})
	if err != nil {
		ts.Fatalf("waited for %q: %v\nlast output:\n%s%s", args[0], err, last.Out, last.Err)
	}
	fmt.Fprint(ts.Stdout(), last.Out)
}
