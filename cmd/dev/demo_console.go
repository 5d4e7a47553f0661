package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/scale/people"
)

// Who logs in to the console of the demo. The address that set the hub up keeps its
// command line: a reset of its password would end it.
const (
	consoleEmail    = "demo@example.test"
	consolePassword = "welcome to the demo"
)

// unconnected is a cluster for people to add, flaky a service whose last commit is broken.
const (
	unconnected = "edge-4"
	flaky       = "flaky"
)

// newcomer prepares what people do in the console after the story.
type newcomer struct{ *demo }

// prepare makes a login for the console. Unless the demo ends now, it also prepares
// what people may try there.
func (d newcomer) prepare(ctx context.Context) error {
	d.chapter("The console")
	if d.repo == "" {
		if err := errors.Join(d.world.Git.Up(ctx), d.tell(ctx)); err != nil {
			return err
		}
		d.say("the Git server answers again")
	}
	if err := d.login(ctx); err != nil {
		return err
	}
	if d.exit || d.repo != "" {
		return nil
	}
	if err := d.breakService(ctx); err != nil {
		return err
	}
	_, err := d.world.AddCluster(ctx, unconnected)
	return err
}

// login creates a person with a password, as an administrator of the machine does.
func (d newcomer) login(ctx context.Context) error {
	if _, err := d.axle(ctx, "users", "create", consoleEmail, "--admin"); err != nil {
		return err
	}
	out, err := d.kubectl(ctx, "exec", "--namespace", "axle", "axle-0", "--", "axle-hub", "admin", "reset", consoleEmail)
	if err != nil {
		return err
	}
	web, err := d.world.Hub.Client()
	if err != nil {
		return err
	}
	if err := people.SetPassword(ctx, web, out, consolePassword); err != nil {
		return err
	}
	d.say("%s opens the link and sets a password", consoleEmail)
	return nil
}

// breakService delivers a service and then a commit with which its pod ends at once.
func (d newcomer) breakService(ctx context.Context) error {
	file := "apps/" + flaky + "/deployment.yaml"
	good := strings.ReplaceAll(fmt.Sprintf(talkerYAML, "hello"), "name: "+talker, "name: "+flaky)
	bad := strings.ReplaceAll(good, "-tick, 100ms]", `-tick, 100ms, -exit, "3"]`)
	if good == bad {
		return errors.New("the broken commit is not broken")
	}
	if _, err := d.world.Git.Commit(ctx, "fleet", "main", "flaky: begin", map[string]string{file: good}); err != nil {
		return err
	}
	if err := d.tell(ctx); err != nil {
		return err
	}
	if _, err := d.axle(ctx, "services", "create", "edge-2/"+flaky, "--repo", "fleet", "--ref", "main", "--folder", filepath.Dir(file), "--wait"); err != nil {
		return err
	}
	if _, err := d.world.Git.Commit(ctx, "fleet", "main", "flaky: end with code 3, by mistake", map[string]string{file: bad}); err != nil {
		return err
	}
	if err := d.tell(ctx); err != nil {
		return err
	}
	d.say("a broken commit of the service edge-2/%s is pushed; it fails once its pod has crashed a few times", flaky)
	err := eventually.Wait(ctx, 2*time.Minute, func() error {
		s, err := d.world.Service(ctx, "edge-2", flaky)
		if err == nil && s.Health != "Degraded" {
			err = fmt.Errorf("edge-2/%s is %s", flaky, s.Health)
		}
		return err
	})
	if err != nil && ctx.Err() == nil { // a slow machine; the world is up all the same
		d.say("not yet: %v", err)
		return nil
	}
	return err
}

// epilogue says what people can do now.
func (d newcomer) epilogue() {
	fmt.Printf(`
Everything stays up until Ctrl-C.

  console   %s
  e-mail    %s
  password  %s
`, d.world.Hub.URL, consoleEmail, consolePassword)
	if d.repo == "" {
		fmt.Printf(`
Try there: edge-2/%s fails since its last commit: read why, and roll it back. Follow the log of a pod of edge-1/%s and
open a shell in it. Add the cluster edge-4 with the command that the console prints; its kubeconfig is
%s.
The repository is the folder %s.
`, flaky, talker, d.world.Cluster(unconnected).Kubeconfig(), d.world.Git.Path("fleet"))
	}
	fmt.Printf(`
In another terminal:

  export AXLE_CONFIG=%s PATH=%s:$PATH
  axle services list                 what runs where, and how old that is
  axle services get edge-1/%s       one service and its objects
  axle events                        what happened
  kubectl --kubeconfig %s get deployments -A --show-labels

`, d.world.Settings(), filepath.Dir(d.world.Programs["axle"]), d.services[0].name, d.world.Cluster("edge-1").Kubeconfig())
}
