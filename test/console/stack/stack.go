package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/scale/people"
	"github.com/axle-cd/axle/test/scale/seed"
	"github.com/axle-cd/axle/test/stores"
	"github.com/axle-cd/axle/test/world"
)

const (
	// Real is the profile with real clusters.
	Real = "real"
	// Huge is the profile of test/scale/seed whose clusters can be told to change.
	Huge = "huge"
	// Fresh is a hub that nobody has set up yet.
	Fresh = "fresh"
)

// Password is that of every person.
const Password = "correct horse battery staple"

// Admin, Viewer, Writer and Stranger may do everything, read everything, write
// everything, and nothing. None is the hub's first administrator, whose API token a
// reset of the password would end.
const (
	Admin    = "you@example.test"
	Viewer   = "viewer@example.test"
	Writer   = "writer@example.test"
	Stranger = "stranger@example.test"
)

// Config says what to start.
type Config struct {
	// Profile is Real or one of seed.Profiles.
	Profile string
	// Dir keeps everything; empty is a temporary folder that Close removes.
	Dir string
	// Leases takes API servers that tests use in turn (kube.Lease). Their logs are not in Dir.
	Leases bool
	// Clusters and Services shrink the profile huge; zero is its own size.
	Clusters, Services int
	// Pages are those of the hub; zero is what ships.
	Pages bin.Pages
	// Hub are more flags of axle-hub serve, for the profiles real and fresh.
	Hub []string
	// OIDC is a provider that somebody else runs, for the tests to know.
	OIDC *OIDC
	// Progress is told of each step; nil is nobody.
	Progress func(format string, args ...any)
}

// Stack is what runs.
type Stack struct {
	Config
	World *world.World
	// People call the API as the first administrator.
	*people.People
	// Seeded is set for the profiles with simulated clusters.
	Seeded *seed.Seeded

	control   *control
	churn     churn
	way       *way // of edge-2, in the profile real
	temporary bool
	setup     string
	fleet     func() error // ends the simulated clusters
	// running are the stores of metrics, logs and alerts, and stores those by Service.
	running []*stores.Store
	stores  map[string]*stores.Store
}

// OIDC is an OpenID Connect provider and an account of it. Its client may return to the
// stack's /login/callback/sso.
type OIDC struct {
	Issuer   string `json:"issuer"`
	Client   string `json:"client"`
	Secret   string `json:"secret"`
	User     string `json:"user"`
	Password string `json:"password"`
	Email    string `json:"email"`
}

// Facts is what tests in the browser's process know; File holds it as JSON.
type Facts struct {
	Profile  string `json:"profile"`
	URL      string `json:"url"`
	Email    string `json:"email"`
	Password string `json:"password"`
	// People are more logins by what they may do.
	People map[string]string `json:"people"`
	// Control is where to POST {"do": ...}, with Key as the bearer token.
	Control string `json:"control"`
	Key     string `json:"key"`
	// Kubeconfigs are files by cluster, for kubectl as its administrator.
	Kubeconfigs map[string]string `json:"kubeconfigs"`
	Axle        string            `json:"axle"`
	AxleConfig  string            `json:"axleConfig"`
	CA          string            `json:"ca"`
	// Token is one of the first administrator, for the API.
	Token string `json:"token"`
	// Apps are the files of the repository fleet, for commits that change one.
	Apps map[string]string `json:"apps,omitempty"`
	// Setup is the address that sets up a hub of the profile fresh.
	Setup string `json:"setup,omitempty"`
	OIDC  *OIDC  `json:"oidc,omitempty"`
	// Stores are the addresses of the stores of edge-1, by their Services in it.
	Stores map[string]string `json:"stores,omitempty"`
}

// Start starts the stack. After an error nothing keeps running.
func Start(ctx context.Context, c Config) (s *Stack, err error) {
	if c.Pages == "" {
		c.Pages = bin.Shipped
	}
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	s = &Stack{Config: c}
	if s.Dir == "" {
		if s.Dir, err = os.MkdirTemp("", "axle-console-"); err != nil {
			return nil, err
		}
		s.temporary = true
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	switch c.Profile {
	case Fresh:
		err = s.startFresh(ctx)
	case Real:
		if err = s.startReal(ctx); err == nil {
			err = s.addPeople(ctx)
		}
	default:
		if err = s.startSeeded(ctx); err == nil {
			err = s.addPeople(ctx)
		}
	}
	if err != nil {
		return s, err
	}
	if s.control, err = startControl(s); err != nil {
		return s, err
	}
	return s, s.write()
}

func (s *Stack) startSeeded(ctx context.Context) (err error) {
	filling := seed.Config{Profile: s.Profile, Dir: filepath.Join(s.Dir, "world"), Clusters: s.Clusters, Services: s.Config.Services, Pages: s.Config.Pages, Progress: s.Progress}
	if s.Profile == Huge {
		filling.Act = s.churn.act
	}
	s.Seeded, err = seed.Fill(ctx, filling)
	if err != nil {
		return err
	}
	s.World, s.People = s.Seeded.World, s.Seeded.People
	if _, err := s.World.Axle(ctx, "login", s.World.Hub.URL, "--token-file", s.Seeded.TokenFile, "--name", "console"); err != nil {
		return err
	}
	polling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- s.Seeded.Run(polling) }()
	s.fleet = func() error {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	return nil
}

func (s *Stack) startFresh(ctx context.Context) (err error) {
	s.World, err = world.Start(ctx, world.Config{Dir: filepath.Join(s.Dir, "world"), Only: []string{"axle"}, Pages: s.Config.Pages, Hub: s.Config.Hub, Progress: s.Progress})
	if err != nil {
		return err
	}
	token, err := os.ReadFile(s.World.Hub.SetupTokenFile())
	s.setup = s.World.Hub.URL + "/setup?token=" + url.QueryEscape(strings.TrimSpace(string(token)))
	s.People = &people.People{}
	return err
}

// startReal starts three clusters with real pods, connects two, and delivers to them.
func (s *Stack) startReal(ctx context.Context) (err error) {
	s.World, err = world.Start(ctx, world.Config{
		Dir: filepath.Join(s.Dir, "world"), Leases: s.Leases, Clusters: []string{"edge-1", "edge-2", "edge-3"}, Pods: true, Pages: s.Config.Pages,
		Hub: slices.Concat([]string{"--repo-poll-interval", "2s", "--agent-image", world.AgentImage}, links, s.Config.Hub), Progress: s.Progress,
	})
	if err != nil {
		return err
	}
	if s.People, err = people.SetUp(ctx, people.Hub{URL: s.World.Hub.URL}, s.World.Hub.SetupTokenFile()); err != nil {
		return err
	}
	token := filepath.Join(s.Dir, "token")
	if err := s.KeepToken(token); err != nil {
		return err
	}
	if _, err := s.World.Axle(ctx, "login", s.World.Hub.URL, "--token-file", token, "--name", "console"); err != nil {
		return err
	}
	greeter, err := bin.Path(ctx, "greeter", bin.Options{Package: "./test/kube/testdata/greeter"})
	if err != nil {
		return err
	}
	for _, name := range s.World.Clusters {
		s.World.Cluster(name).SetBinary("talker", greeter)
		s.World.Cluster(name).SetBinary("sh", "/bin/sh")
	}
	s.Progress("two clusters connect")
	if s.way, err = newWay(s.World.Hub.URL); err != nil {
		return err
	}
	connecting, joined := errgroup.WithContext(ctx)
	for name, hub := range map[string]string{"edge-1": s.World.Hub.URL, "edge-2": s.way.URL} {
		connecting.Go(func() error {
			return s.World.ConnectPod(joined, name, "--agent-hub-url", hub, "--poll-interval", "5s", "--tag", "tier=edge", "--tag", "region=eu")
		})
	}
	if err := connecting.Wait(); err != nil {
		return err
	}
	s.Progress("stores of metrics, logs and alerts start")
	if err := s.startStores(ctx); err != nil {
		return err
	}
	return s.deliver(ctx)
}

// deliver makes services on both clusters and waits for them.
func (s *Stack) deliver(ctx context.Context) error {
	s.Progress("services are delivered")
	files := map[string]string{}
	for name, text := range Apps() {
		files[name] = text
	}
	if err := s.Repository(ctx, s.World.Git, "fleet", files); err != nil {
		return err
	}
	for _, cluster := range []string{"edge-1", "edge-2"} {
		for _, app := range []string{"talker", "web"} {
			if err := s.Service(ctx, cluster, app, "fleet", "main", "apps/"+app); err != nil {
				return err
			}
		}
	}
	_, err := s.World.Axle(ctx, "services", "wait", "--all", "--timeout", "2m")
	return err
}

// setPassword gives a person Password by the link of `axle-hub admin reset`.
func (s *Stack) setPassword(ctx context.Context, email string) error {
	out, err := s.World.Hub.Run(ctx, "admin", "reset", email, "--external-url", s.World.Hub.URL)
	if err != nil {
		return err
	}
	web, err := s.World.Hub.Client()
	if err != nil {
		return err
	}
	if err := people.SetPassword(ctx, web, out, Password); err != nil {
		return fmt.Errorf("password of %s: %w", email, err)
	}
	return nil
}

// addPeople creates those who log in by password.
func (s *Stack) addPeople(ctx context.Context) error {
	for _, who := range []struct{ email, action string }{{Admin, "admin"}, {Viewer, "read"}, {Writer, "write"}, {Stranger, ""}} {
		if _, err := s.API.Users.Create(ctx, connect.NewRequest(&hubv1.CreateUserRequest{Email: who.email, Admin: who.email == Admin})); err != nil {
			return err
		}
		if who.action != "" && who.email != Admin {
			_, err := s.API.Bindings.Create(ctx, connect.NewRequest(&hubv1.CreateBindingRequest{
				SubjectKind: "user", Subject: who.email, Actions: []string{who.action}, Place: &hubv1.Place{Project: "default"},
			}))
			if err != nil {
				return err
			}
		}
		if err := s.setPassword(ctx, who.email); err != nil {
			return err
		}
	}
	return nil
}

// File is where the facts are.
func (s *Stack) File() string { return filepath.Join(s.Dir, "stack.json") }

// Facts returns what the tests need to know.
func (s *Stack) Facts() Facts {
	f := Facts{
		Profile: s.Profile, URL: s.World.Hub.URL, Email: Admin, Password: Password,
		People: map[string]string{"viewer": Viewer, "writer": Writer, "stranger": Stranger}, Control: s.control.url, Key: s.control.key,
		Kubeconfigs: map[string]string{}, Axle: s.World.Programs["axle"], AxleConfig: s.World.Settings(), CA: s.World.Hub.CA, Token: s.Token,
		Setup: s.setup, OIDC: s.OIDC,
	}
	if s.Profile == Real {
		f.Apps = Apps()
	}
	for name, store := range s.stores {
		if f.Stores == nil {
			f.Stores = map[string]string{}
		}
		f.Stores[name] = store.URL()
	}
	for _, name := range s.World.Clusters {
		f.Kubeconfigs[name] = s.World.Cluster(name).Kubeconfig()
	}
	return f
}

func (s *Stack) write() error {
	data, err := json.MarshalIndent(s.Facts(), "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.File(), append(data, '\n'), 0o600)
}

// Node runs a script of web/test on the stack, from the root of the repository.
func (s *Stack) Node(ctx context.Context, script string, out, errs io.Writer) error {
	command := exec.CommandContext(ctx, "node", filepath.Join("test", script))
	command.Dir = "web"
	command.Env = append(os.Environ(), "AXLE_STACK="+s.File(), "TZ=UTC")
	command.Stdout, command.Stderr = out, errs
	err := child.Start(command)
	if err == nil {
		err = command.Wait()
	}
	if err != nil {
		return fmt.Errorf("node web/test/%s: %w", script, err)
	}
	return nil
}

// Close ends everything.
func (s *Stack) Close() error {
	var errs []error
	if s.churn.end != nil {
		errs = append(errs, s.churn.stop())
	}
	if s.control != nil {
		errs = append(errs, s.control.close())
	}
	if s.fleet != nil {
		errs = append(errs, s.fleet())
	}
	switch {
	case s.Seeded != nil:
		errs = append(errs, s.Seeded.Close())
	case s.World != nil:
		errs = append(errs, s.World.Close())
	}
	if s.way != nil {
		errs = append(errs, s.way.end())
	}
	for _, store := range s.running {
		store.Close()
	}
	if s.temporary {
		errs = append(errs, os.RemoveAll(s.Dir))
	}
	return errors.Join(errs...)
}

// patience bounds one act of the control address.
const patience = 3 * time.Minute

// image is the one whose pods run the talker.
const image = kube.ImagePrefix + "talker:1"

// Apps are the files of the services of the profile real, by path: talker is a process
// that serves and logs, web three objects that nothing runs.
func Apps() map[string]string {
	files := people.App("web", "hello")
	files["apps/talker/talker.yaml"] = Talker("hello", "")
	return files
}

// Talker is the Deployment of a pod that logs its greeting; wrong, unless empty, is an
// argument that it does not know, so that it ends at once.
func Talker(greeting, wrong string) string {
	args := `"-listen", "$(POD_IP):8080", "-tick", "500ms"`
	if wrong != "" {
		args += fmt.Sprintf(", %q", wrong)
	}
	return strings.NewReplacer("GREETING", greeting, "IMAGE", image, "ARGS", args).Replace(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: talker
  annotations:
    greeting: GREETING
spec:
  replicas: 1
  selector:
    matchLabels: {app: talker}
  template:
    metadata:
      labels: {app: talker}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: talker
          image: IMAGE
          args: [ARGS]
          env:
            - name: POD_IP
              valueFrom: {fieldRef: {fieldPath: status.podIP}}
`)
}
