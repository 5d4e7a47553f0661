package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// declaredObjects are those of examples/fleet/declared.
const declaredObjects = 7

// management is the cluster of the operator and of what Git declares for the fleet.
const management = "mgmt"

// fleet lets one service of the management cluster bring everything else from Git.
func (d *demo) fleet(ctx context.Context) error {
	d.chapter("Git declares the fleet: the operator, and one root service that brings the rest")
	if _, err := d.kubectl(ctx, strings.Fields("create secret generic settings --namespace platform --from-literal password=correct-horse")...); err != nil {
		return err
	}
	if err := d.world.Git.Create(ctx, "apps"); err != nil {
		return err
	}
	if _, err := d.world.Git.CommitFolder(ctx, "apps", "main", "begin with the applications", "examples/apps"); err != nil {
		return err
	}
	root, err := d.located("examples/fleet/root.yaml")
	if err != nil {
		return err
	}
	file := filepath.Join(d.world.Dir, "root.yaml")
	if err := os.WriteFile(file, []byte(root), 0o600); err != nil {
		return err
	}
	// An administrator applies it at the hub: nobody who writes custom resources may
	// deliver to the hub's own cluster.
	if _, err := d.axle(ctx, "apply", "-f", file); err != nil {
		return err
	}
	if err := eventually.Wait(ctx, 4*time.Minute, func() error { return d.ready(ctx) }); err != nil {
		return err
	}
	out, err := d.kubectl(ctx, "get", "servicedeployments,globalservices,managednamespaces", "-A")
	if err != nil {
		return err
	}
	fmt.Print(indent(out))
	secret, err := d.world.Kubectl(ctx, "edge-1", "--namespace", "settings", "get", "secret/settings", "-o", "go-template={{.data.password | base64decode}}")
	if err == nil && secret.Out != "correct-horse" {
		err = fmt.Errorf("the Secret of the service settings has the password %q", secret.Out)
	}
	return errors.Join(err, d.namespaces(ctx))
}

// namespaces looks for the managed namespace in both clusters.
func (d *demo) namespaces(ctx context.Context) error {
	for _, cluster := range []string{"edge-1", "edge-2"} {
		have, err := d.world.Kubectl(ctx, cluster, "get", "namespace", "observed", "-o", "jsonpath={.metadata.labels.team}")
		if err == nil && have.Out != "platform" {
			err = fmt.Errorf("the namespace observed of %s has the label team=%q", cluster, have.Out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// located reads an example with the URL of the Git server here.
func (d *demo) located(file string) (string, error) {
	text, err := os.ReadFile(file)
	host := strings.TrimSuffix(d.world.Git.URL("fleet"), "fleet.git")
	return strings.ReplaceAll(string(text), "https://git.example.test/", host), err
}

// kubectl runs kubectl on the management cluster and prints it as a person would type it.
func (d *demo) kubectl(ctx context.Context, args ...string) (string, error) {
	d.say("$ kubectl --context %s %s", management, strings.Join(shown(args), " "))
	result, err := d.world.Kubectl(ctx, management, args...)
	return result.Out, err
}

// ready returns what the API server says is not ready yet.
func (d *demo) ready(ctx context.Context) error {
	result, err := d.world.Kubectl(ctx, management, "get", "servicedeployments,globalservices,managednamespaces,gitrepositories,clusters.deployments.plural.sh,servicecontexts", "-A",
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}:{.status.conditions[?(@.type=="Ready")].message}{"\n"}{end}`)
	if err != nil {
		return err
	}
	var waits []error
	lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(result.Out), " ", "_"))
	for _, line := range lines {
		if !strings.Contains(line, "=True:") {
			waits = append(waits, errors.New(strings.ReplaceAll(line, "_", " ")))
		}
	}
	if len(lines) < declaredObjects {
		waits = append(waits, fmt.Errorf("%d of %d objects are there", len(lines), declaredObjects))
	}
	return errors.Join(waits...)
}
